// A server process whose machine clock is set back and forward while it runs, as by NTP or suspend. libfaketime changes
// the clock of that process only; the test is skipped if it is not installed.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { startReceiver } from "../../src/receiver.ts";
import {
  attemptsOf,
  Client,
  closeLater,
  eventually,
  freshFile,
  logOf,
  members,
  serving,
  skipUnless,
  str,
} from "../support/index.ts";

const LIBRARY = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
  .map((each) => `/usr/lib/${each}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));
const skip = skipUnless(
  LIBRARY !== undefined,
  "FAKETIME",
  "libfaketime is not installed: apt-get install libfaketime",
);
const HOUR_MS = 3_600_000;

test("a server follows its machine's clock when it is set back or forward, and waits keep their length", {
  skip,
}, async () => {
  const offset = freshFile("offset", "+0");
  const env = {
    LD_PRELOAD: LIBRARY,
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    DONT_FAKE_MONOTONIC: "1",
  };
  const args = ["--control", "--log", "json", "--retry-schedule", "1s,1h"];
  await serving(
    args,
    "\n",
    async ({ said }) => {
      const { base_url, api_key } = members(JSON.parse(said.stdout.split("\n")[0] ?? ""));
      const api = new Client({ baseUrl: str(base_url), key: str(api_key) });
      const receiver = await startReceiver({ secret: "shared", answers: [500, 500, 200] });
      closeLater(receiver.close);
      const { url } = receiver;
      const events = ["app.created"];
      const webhook = await api.create("/webhooks", { url, events, secret: "shared" });
      const ids: string[] = [];
      let offset_ms = 0;
      const assertNow = (at: unknown) => {
        const off_ms = Date.parse(str(at)) - Date.now() - offset_ms;
        assert.ok(Math.abs(off_ms) < 1_000, `off by ${off_ms} ms`);
      };
      /** Sets the clock and asserts that the next request shows the new time. */
      async function setClock(to_ms: number) {
        offset_ms = to_ms;
        writeFileSync(offset, `${to_ms < 0 ? "" : "+"}${to_ms / 1_000}`);
        const { id, created_at } = await api.create("/api-keys", { name: "After" });
        assertNow(created_at);
        ids.push(id);
      }
      /** Waits in real time until this many attempts were made; returns the last one. */
      const attempt = (count: number) =>
        eventually(async () => attemptsOf((await logOf(api, webhook))[0])[count - 1]);
      await api.newApp();
      await attempt(1);
      await setClock(-5 * HOUR_MS);
      assertNow((await attempt(2)).at);
      await setClock(8 * HOUR_MS);
      const last = await attempt(3);
      assertNow(last.at);
      assert.equal(last.response_status, 200);
      await setClock(0);
      assert.deepEqual(ids, ids.toSorted());
    },
    env,
  );
});
