// Spec part 8: there is a rate limit, exceeding it is a 403. Its values and headers are ours (contract, part 8).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Answer, str } from "../support/client.ts";
import { problem } from "../support/problem.ts";
import { B_KEY, TWO } from "../support/world.ts";

const FIVE = { rateLimit: 5, clock: "manual" } as const;

/** What RateLimit says: requests left and seconds to the end of the window. */
function left(answer: Answer): readonly [remaining: number, seconds: number] {
  const [, remaining, seconds] = /^"default";r=(\d+);t=(\d+)$/.exec(answer.header("ratelimit")) ?? [];
  return [Number(remaining), Number(seconds)];
}

choice("8.rate-limit", "is 6,000 in 60 seconds by default", {}, async ({ api }) => {
  const answer = await api.get("/account");
  assert.equal(answer.header("ratelimit-policy"), '"default";q=6000;w=60');
  assert.deepEqual(left(answer), [5999, 60]);
});

choice("8.rate-headers", "count down on every answer that has an account, of any status", FIVE, async ({ api }) => {
  for (let tries = 0; tries < 8; tries += 1) {
    const { status, headers } = await api.as("unknown-key").get("/account");
    assert.deepEqual([status, headers.ratelimit], [401, undefined], "a 401 has none and is not counted");
  }
  const answers = [await api.get("/nowhere"), await api.send("PUT", "/apps"), await api.get("/apps?limit=0")];
  answers.push(await api.post("/apps", {}), await api.send("POST", "/apps", { body: "{" }));
  const told = answers.map((answer) => [answer.status, ...left(answer)].join(" "));
  assert.deepEqual(told, ["404 4 60", "405 3 60", "400 2 60", "422 1 60", "415 0 60"]);
  for (const answer of answers) assert.equal(answer.header("ratelimit-policy"), '"default";q=5;w=60');
  const over = await api.post("/apps", { title: "T" });
  problem(over, "rate_limit_exceeded");
  assert.deepEqual([over.header("retry-after"), ...left(over)], ["60", 0, 60]);
});

choice("8.rate-limit.window", "is fixed: it ends 60 s after it began, not before", FIVE, async ({ api, service }) => {
  await api.get("/account");
  await service.clock.advance("30000ms");
  assert.deepEqual(left(await api.get("/account")), [3, 30], "what comes late in it is counted in it");
  for (let used = 0; used < 3; used += 1) assert.equal((await api.get("/account")).status, 200);
  await service.clock.advance("29999ms");
  const over = await api.post("/apps", { title: "T" });
  problem(over, "rate_limit_exceeded");
  assert.equal(over.header("retry-after"), "1");
  await service.clock.advance("1ms");
  const anew = await api.get("/apps");
  assert.deepEqual([...left(anew), anew.json.total], [4, 60, 0], "a refused request did nothing");
});

choice("8.rate-limit", "is the account's, for all its keys", { ...TWO, rateLimit: 5 }, async ({ api }) => {
  const second = api.as(str((await api.create("/api-keys", { name: "Second" })).key));
  for (let used = 0; used < 4; used += 1) assert.equal((await second.get("/account")).status, 200);
  for (const client of [api, second]) problem(await client.get("/account"), "rate_limit_exceeded");
  assert.deepEqual(left(await api.as(B_KEY).get("/account"))[0], 4);
});

choice("8.rate-limit", "can be switched off", { rateLimit: "off" }, async ({ api }) => {
  const { headers } = await api.get("/account");
  assert.deepEqual([headers.ratelimit, headers["ratelimit-policy"]], [undefined, undefined]);
});
