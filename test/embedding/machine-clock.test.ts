// A server process whose machine clock is set back and forward while it runs, as by NTP or suspend (contract, part 10).
// libfaketime changes the clock of that process only; the test is skipped if it is not installed.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { startReceiver } from "../../src/receiver.ts";
import { Client, members, str } from "../support/client.ts";
import { closeLater, freshFile } from "../support/closing.ts";
import { consent, exchange, pair, person, register } from "../support/oauth.ts";
import { serving } from "../support/process.ts";
import { attemptsOf, eventually, logOf } from "../support/wait.ts";

const LIBRARIES = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map(
  (each) => `/usr/lib/${each}/faketime/libfaketime.so.1`,
);
const LIBRARY = LIBRARIES.find((path) => existsSync(path));
const skip = LIBRARY === undefined && "libfaketime is not installed";
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
  const args = ["--control", "--log", "json", "--retry-schedule", "1s,1h", "--rate-limit", "off"];
  await serving(
    args,
    "\n",
    async ({ said }) => {
      const { base_url, api_key } = members(JSON.parse(said.stdout.split("\n")[0] ?? ""));
      const api = new Client({ baseUrl: str(base_url), key: str(api_key) });
      const receiver = await startReceiver({ secret: "shared", answers: [500, 500, 200] });
      closeLater(receiver.close);
      const webhook = await api.create("/webhooks", {
        url: receiver.url,
        events: ["app.created"],
        secret: "shared",
      });
      const [client, user] = [await register(api), await person(api)];
      const ids: string[] = [];
      let offset_ms = 0;
      const isNow = (at: number) => {
        const off_ms = at - Date.now() - offset_ms;
        assert.ok(Math.abs(off_ms) < 1_000, `off by ${off_ms} ms`);
      };
      /** Sets the clock and asserts that the next request shows the new time. */
      const set = async (to_ms: number) => {
        offset_ms = to_ms;
        writeFileSync(offset, `${to_ms < 0 ? "" : "+"}${to_ms / 1_000}`);
        const { id, created_at } = await api.create("/api-keys", { name: "After" });
        isNow(Date.parse(str(created_at)));
        ids.push(id);
        const tokens = pair(await exchange(api, client, str((await consent(user, client)).code)));
        isNow(Number(tokens.claims.exp) * 1_000 - HOUR_MS + 500);
      };
      /** Waits in real time until this many attempts were made. */
      const attempts = (count: number) =>
        eventually(async () => {
          const found = attemptsOf((await logOf(api, webhook))[0]);
          return found.length >= count && found;
        });
      await set(0);
      await api.create("/apps", { title: "Sent" });
      await attempts(1);
      await set(-5 * HOUR_MS);
      const retried = await attempts(2);
      isNow(Date.parse(str(retried[1]?.at)));
      await set(8 * HOUR_MS);
      const [, , last] = await attempts(3);
      isNow(Date.parse(str(last?.at)));
      assert.equal(last?.response_status, 200);
      await set(0);
      assert.deepEqual(ids, ids.toSorted());
      assert.equal((await attempts(3)).length, 3, "each once");
    },
    env,
  );
});
