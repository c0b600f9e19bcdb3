// Spec part 8: the defaults of a list, the time that an endpoint has to answer, and that there is a rate limit.
import assert from "node:assert/strict";
import { clause, MANUAL } from "../support/clauses.ts";
import { answeredAfter } from "../support/http-receiver.ts";
import { appsIn, newApp } from "../support/shown.ts";

clause("8.default-limit", "20", async ({ api }) => {
  for (let made = 0; made < 21; made += 1) await newApp(api);
  assert.equal((await appsIn(api)).length, 20);
});

clause("8.default-offset", "0", async ({ api }) => {
  await newApp(api);
  assert.deepEqual(await appsIn(api, "?limit=5"), await appsIn(api, "?limit=5&offset=0"));
});

clause("8.answer-time", "an endpoint has 30 seconds to answer a delivery", MANUAL, async ({ api }) => {
  assert.equal((await answeredAfter(api, 29_999)).status, "succeeded");
  assert.equal((await answeredAfter(api, 30_000)).status, "pending");
});

clause("8.rate-limit-403", "over the rate limit", { rateLimit: 5, clock: "manual" }, async ({ api }) => {
  for (let used = 0; used < 5; used += 1) assert.equal((await api.get("/apps")).status, 200);
  assert.equal((await api.get("/apps")).status, 403);
});
