// The limits that spec part 8 leaves open: bodies, nesting, URLs and headers, each tested on both sides, and the values
// and headers of the rate limit (contract, part 8).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Answer, type Client, str } from "../support/client.ts";
import { invalid, problem } from "../support/problem.ts";
import { account, head, rawAnswer } from "../support/raw.ts";
import { B_KEY, TWO } from "../support/world.ts";

const MIB = 1_048_576;
const send = (api: Client, path: string, body: string | Buffer) => api.text("POST", path, body);

/** A body of exactly `size` bytes, padded with spaces after the JSON. */
const padded = (value: unknown, size: number): Buffer =>
  Buffer.alloc(size, JSON.stringify(value).padEnd(size));

choice(
  "8.body-size",
  "a body has at most 1 MiB, a data source's 10 MiB, and one byte more is rejected",
  async ({ api }) => {
    (await send(api, "/apps", padded({ title: "T" }, MIB))).is(201);
    const large = padded({ title: "T" }, MIB + 1);
    problem(await send(api, "/apps", large), "payload_too_large");
    const { id } = await api.create("/apps", { title: "T" });
    problem(await api.text("PATCH", `/apps/${id}`, large), "payload_too_large");
    invalid(await api.post("/apps", { title: "x".repeat(1_000_000) }), "#/title");
    const source = { name: "Large", type: "csv", data: "a\n1\n" };
    (await send(api, "/data-sources", padded(source, 10 * MIB))).is(201);
    problem(await send(api, "/data-sources", padded(source, 10 * MIB + 1)), "payload_too_large");
  },
);

choice(
  "8.bounds.nesting",
  "JSON may nest 64 levels deep, 65 are rejected, and brackets inside strings do not count",
  async ({ api }) => {
    const arrays = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    const objects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
    invalid(await send(api, "/apps", arrays(64)), "#");
    invalid(await send(api, "/apps", objects(64)), "#/a", "#/title");
    for (const body of [arrays(65), objects(65), arrays(500_000)])
      assert.match(
        str(problem(await send(api, "/apps", body), "invalid_json").detail),
        /64 levels/,
      );
    problem(await send(api, "/apps", "[".repeat(1_000_000)), "invalid_json");
    // Numbers that are not written as JavaScript writes them take another path.
    const inexact = arrays(20_000).replace("[]", "[1.0]");
    problem(await send(api, "/data-sources", inexact), "invalid_json");
    const title = `${"[{".repeat(40)}\\"${"[".repeat(70)}\\`;
    assert.equal((await api.create("/apps", { title })).title, title);
  },
);

choice("8.bounds.requests", "a URL has at most 8 KiB and the headers 16 KiB", async (context) => {
  const { authUrl } = context;
  const getWithUrl = (length: number) =>
    rawAnswer(authUrl, head(`GET ${"/v1/apps?x=".padEnd(length, "y")}`, context));
  problem(await getWithUrl(8_192), "invalid_parameter");
  for (const length of [8_193, 20_000, 200_000]) problem(await getWithUrl(length), "uri_too_long");
  const getWithHeader = (length: number) =>
    rawAnswer(authUrl, account(context, `x: ${"y".repeat(length)}`));
  (await getWithHeader(16_000)).is(200);
  for (const length of [16_385, 20_000, 200_000])
    problem(await getWithHeader(length), "headers_too_large");
});

const FIVE = { rateLimit: 5, clock: "manual" } as const;

/** The values of RateLimit: requests left, and seconds to the end of the window. */
function left(answer: Answer): readonly [remaining: number, seconds: number] {
  const [, remaining, seconds] =
    /^"default";r=(\d+);t=(\d+)$/.exec(answer.header("ratelimit")) ?? [];
  return [Number(remaining), Number(seconds)];
}

choice(
  "8.rate-limit",
  "the rate limit is 6,000 requests in 60 seconds by default",
  {},
  async ({ api }) => {
    const answer = await api.get("/account");
    assert.equal(answer.header("ratelimit-policy"), '"default";q=6000;w=60');
    assert.deepEqual(left(answer), [5999, 60]);
  },
);

choice(
  "8.rate-headers",
  "the rate limit headers count down on every response for an account, whatever its status",
  FIVE,
  async ({ api }) => {
    const { status, headers } = await api.as("unknown-key").get("/account");
    assert.deepEqual([status, headers.ratelimit], [401, undefined]);
    const answers = [
      await api.get("/nowhere"),
      await api.send("PUT", "/apps"),
      await api.get("/apps?limit=0"),
    ];
    answers.push(await api.post("/apps", {}), await api.send("POST", "/apps", { body: "{" }));
    const reported = answers.map((answer) => [answer.status, ...left(answer)].join(" "));
    assert.deepEqual(reported, ["404 4 60", "405 3 60", "400 2 60", "422 1 60", "415 0 60"]);
    const over = await api.post("/apps", { title: "T" });
    problem(over, "rate_limit_exceeded");
    assert.deepEqual([over.header("retry-after"), ...left(over)], ["60", 0, 60]);
  },
);

choice(
  "8.rate-limit.window",
  "the rate limit window is fixed and ends 60 s after it began",
  FIVE,
  async ({ api, service }) => {
    await api.get("/account");
    await service.clock.advance("30000ms");
    assert.deepEqual(
      left(await api.get("/account")),
      [3, 30],
      "what comes late in it is counted in it",
    );
    for (let used = 0; used < 3; used += 1) (await api.get("/account")).is(200);
    await service.clock.advance("29999ms");
    const over = await api.post("/apps", { title: "T" });
    problem(over, "rate_limit_exceeded");
    assert.equal(over.header("retry-after"), "1");
    await service.clock.advance("1ms");
    const anew = await api.get("/apps");
    assert.deepEqual([...left(anew), anew.json.total], [4, 60, 0], "a refused request did nothing");
  },
);

choice(
  "8.rate-limit",
  "the rate limit is shared by all keys of the account",
  { ...TWO, rateLimit: 5 },
  async ({ api }) => {
    const second = api.as(str((await api.create("/api-keys", { name: "Second" })).key));
    for (let used = 0; used < 4; used += 1) (await second.get("/account")).is(200);
    for (const client of [api, second])
      problem(await client.get("/account"), "rate_limit_exceeded");
    assert.deepEqual(left(await api.as(B_KEY).get("/account"))[0], 4);
  },
);

choice("8.rate-limit", "the rate limit can be disabled", { rateLimit: "off" }, async ({ api }) => {
  const { headers } = await api.get("/account");
  assert.deepEqual([headers.ratelimit, headers["ratelimit-policy"]], [undefined, undefined]);
});
