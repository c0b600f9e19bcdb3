// Spec parts 8 and 9: the defaults of a list, the time limit for a webhook's response, the existence of a rate limit,
// and the version, which is a segment of the path.
import assert from "node:assert/strict";
import { clause, judged } from "../support/clause.ts";
import { done, ids } from "../support/shown.ts";

clause("8.default-limit", "a list returns 20 apps by default", async (kit) => {
  const all = ids(await kit.fillUp(25));
  assert.deepEqual(ids(await kit.appsIn()), all.slice(0, 20));
});

clause("8.default-offset", "a list begins with the first app by default", async (kit) => {
  await kit.fillUp(5);
  const [page, first] = [await kit.appsIn("?limit=5"), await kit.appsIn("?limit=5&offset=0")];
  assert.deepEqual(ids(page), ids(first));
});

const AT_ONCE = 20;
const REQUESTS_MAX = 20_000;

clause("8.rate-limit-403", "a request over the rate limit gets 403", async (kit) => {
  const api = kit.api.as(kit.given("rate-limited-key"));
  for (let asked = 0; asked < REQUESTS_MAX; asked += AT_ONCE) {
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, () => api.get("/apps?limit=1")),
    );
    const refused = answers.find(({ status }) => status >= 300);
    if (refused) return refused.is(403);
  }
  assert.fail(`${REQUESTS_MAX} requests were all accepted`);
});

judged(
  "8.answer-time",
  "a webhook endpoint has 30 seconds to respond to a delivery",
  ({ held: [inTime] }) => {
    assert.ok(inTime?.first?.wasRead, `the sender was gone when it was answered ${inTime?.says}`);
  },
);

clause(
  "9.path-segment",
  "the base URL ends with the version segment /v1",
  async ({ api, target }) => {
    assert.match(target["base-url"], /\/v1$/);
    done(await api.get("/apps"));
  },
);
