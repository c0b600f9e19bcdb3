// Soak test: mixed load for a long time on a server in its own process. Created resources are deleted again, and
// retained events and tombstones reach their limit before the first measurement. Each measurement waits until the rate
// windows have expired. Memory use after garbage collection must then not grow, however fast the machine is.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { RATE_WINDOW_S } from "../../src/http/access.ts";
import type { Client } from "../../test/support/client.ts";
import { listen } from "../../test/support/ports.ts";
import { head, RawConnection } from "../../test/support/raw.ts";
import { SOURCES, startServer } from "../bench/server.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";

const MINUTE_MS = 60_000;
const AT_ONCE = 4;
/** As many as the retained events. Once these lives have produced all of those, any growth is a leak. */
const LIVES_MIN = 10_000;
const GROWTH_MAX = 1.03;
const CLICK = { user_id: "visitor", interaction_type: "click" };

export async function soak(minutes: number): Promise<Finding> {
  // A receiver that stores nothing, however long the run is.
  await using receiver = createServer((request, response) =>
    request.resume().on("end", () => response.end()),
  );
  const url = `http://127.0.0.1:${await listen(receiver)}/`;
  await using server = await startServer("soak", SOURCES);
  const { api } = server;
  await api.create("/webhooks", { url, events: ["app.created"] });
  const wrong: string[] = [];
  let lives = 0;
  const heapAfter = async (ms: number): Promise<number> => {
    const until = performance.now() + ms;
    const going = function* () {
      while (performance.now() < until || lives < LIVES_MIN) yield lives++;
    };
    await pool(AT_ONCE, going(), () =>
      life(api).catch((error: Error) => wrong.push(String(error))),
    );
    await pause(RATE_WINDOW_S * 1_000);
    // The next request clears expired entries.
    await api.get("/account");
    return (await server.ask("heap")).heap;
  };
  // V8 still compiles code in the first minute.
  const [first, last] = [await heapAfter(MINUTE_MS), await heapAfter((minutes - 1) * MINUTE_MS)];
  const [was, is] = [first, last].map((bytes) => `${(bytes / 1e6).toFixed(1)} MB`);
  if (last > first * GROWTH_MAX) wrong.push(`the heap grew from ${was} to ${is}`);
  const tried = `${minutes} minutes, ${lives} apps made and deleted; heap ${was} after the first, then ${is}`;
  return { what: "Mixed load", tried, wrong };
}

/** The life of one app from creation to deletion, including invalid requests by its clients. */
async function life(api: Client): Promise<void> {
  const { id: app_id } = await api.create("/apps", { title: "Soak", public: true });
  const app = `/apps/${app_id}`;
  const source = await api.create("/data-sources", {
    name: "S",
    type: "csv",
    data: "a,b\n1,2\n".repeat(99),
    app_id,
  });
  const { id } = await api.create(`${app}/deploy`, { name: "Release" });
  const upload = await RawConnection.open(api.baseUrl);
  upload.write(
    head("POST /v1/apps", { api }, "content-type: application/json", "content-length: 9000"),
  );
  upload.socket.resetAndDestroy();
  for (const [status, answer] of [
    [200, await api.patch(app, { description: "changed" })],
    [202, await api.post(`${app}/interactions`, CLICK)],
    [200, await api.root.as(null).get(`/sites/${id}/`)],
    [200, await api.get("/apps?limit=100")],
    [200, await api.get(`/data-sources/${source.id}/rows`)],
    [304, await api.get("/account", { "if-none-match": "*" })],
    [412, await api.delete(app, { "if-match": '"x"' })],
    [422, await api.post("/apps", { title: "" })],
    [401, await api.as("nobody").get("/apps")],
    [204, await api.delete(`/data-sources/${source.id}`)],
    [204, await api.delete(app)],
    [404, await api.get(app)],
  ] as const)
    assert.equal(answer.status, status, answer.text);
}
