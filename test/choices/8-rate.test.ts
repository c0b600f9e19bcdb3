// Spec part 8: there is a rate limit, exceeding it is a 403. Its values and headers are ours (contract, part 8).
import assert from "node:assert/strict";
import { choice, type Server } from "../support/clauses.ts";
import { type Answer, type Client, str } from "../support/client.ts";
import { problem } from "../support/problem.ts";

const FIVE: Server = { rateLimit: 5, clock: "manual" };

/** Uses up the whole limit of five. */
async function exhaust(api: Client): Promise<void> {
  for (let used = 0; used < 5; used += 1) assert.equal((await api.get("/account")).status, 200);
}

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

choice("8.rate-headers", "count down to the last request that is let through", FIVE, async ({ api }) => {
  for (const remaining of [4, 3, 2, 1, 0]) {
    const answer = await api.get("/account");
    assert.equal(answer.header("ratelimit-policy"), '"default";q=5;w=60');
    assert.deepEqual([answer.status, ...left(answer)], [200, remaining, 60]);
  }
  const over = await api.get("/account");
  problem(over, "rate_limit_exceeded");
  assert.deepEqual([over.header("retry-after"), ...left(over)], ["60", 0, 60]);
});

choice("8.rate-headers", "are on every answer that has an account, whatever its status", FIVE, async ({ api }) => {
  const answers = [await api.get("/nowhere"), await api.send("PUT", "/apps"), await api.get("/apps?limit=0")];
  answers.push(await api.post("/apps", {}), await api.send("POST", "/apps", { body: "{" }), await api.get("/account"));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404, 405, 400, 422, 415, 403],
  );
  assert.deepEqual(
    answers.map((answer) => left(answer)[0]),
    [4, 3, 2, 1, 0, 0],
  );
});

choice("8.rate-headers", "a 401 has no account, is not counted and shows none", FIVE, async ({ api }) => {
  for (let tries = 0; tries < 8; tries += 1) {
    const answer = await api.as("unknown-key").get("/account");
    assert.deepEqual([answer.status, answer.headers.ratelimit], [401, undefined]);
  }
  assert.deepEqual(left(await api.get("/account")), [4, 60]);
});

choice(
  "8.rate-limit.window",
  "ends 60 seconds after it began, and not a moment before",
  FIVE,
  async ({ api, service }) => {
    await exhaust(api);
    await service.clock.advance("59999ms");
    const over = await api.get("/account");
    problem(over, "rate_limit_exceeded");
    assert.equal(over.header("retry-after"), "1");
    await service.clock.advance("1ms");
    assert.deepEqual(left(await api.get("/account")), [4, 60]);
  },
);

choice("8.rate-limit.window", "is fixed: what comes late in it is counted in it", FIVE, async ({ api, service }) => {
  await api.get("/account");
  await service.clock.advance("30000ms");
  assert.deepEqual(left(await api.get("/account")), [3, 30]);
  await service.clock.advance("30000ms");
  assert.deepEqual(left(await api.get("/account")), [4, 60]);
});

choice(
  "8.rate-limit",
  "is the account's: all its keys share it, another account has its own",
  {
    needs: "embedded",
    options: {
      rateLimit: 5,
      seed: {
        accounts: [
          { name: "A", api_keys: [{ name: "a", key: "first-key-of-a" }] },
          { name: "B", api_keys: [{ name: "b", key: "first-key-of-b" }] },
        ],
      },
    },
  },
  async ({ api }) => {
    const second = api.as(str((await api.create("/api-keys", { name: "Second" })).key));
    for (let used = 0; used < 4; used += 1) assert.equal((await second.get("/account")).status, 200);
    problem(await api.get("/account"), "rate_limit_exceeded");
    problem(await second.get("/account"), "rate_limit_exceeded");
    assert.deepEqual(left(await api.as("first-key-of-b").get("/account"))[0], 4);
  },
);

choice("8.rate-limit", "can be switched off", { rateLimit: "off" }, async ({ api }) => {
  const answer = await api.get("/account");
  assert.deepEqual([answer.headers.ratelimit, answer.headers["ratelimit-policy"]], [undefined, undefined]);
});

choice("8.rate-limit", "a refused request does nothing", FIVE, async ({ api, service }) => {
  await exhaust(api);
  problem(await api.post("/apps", { title: "T" }), "rate_limit_exceeded");
  await service.clock.advance("60000ms");
  assert.equal((await api.get("/apps")).json.total, 0);
});
