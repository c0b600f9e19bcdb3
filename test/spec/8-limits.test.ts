// Spec parts 8 and 9: the defaults of a list, the time limit for a webhook's response, the existence of a rate limit,
// and the version, which is a segment of the path.
import assert from "node:assert/strict";
import { clause, judged } from "../support/clause.ts";
import { done, ids } from "../support/shown.ts";

clause("8.default-limit", "20", async (kit) => {
  const all = ids(await kit.fillUp(25));
  assert.deepEqual(ids(await kit.appsIn()), all.slice(0, 20));
});

clause("8.default-offset", "0", async (kit) => {
  await kit.fillUp(5);
  const [page, first] = [await kit.appsIn("?limit=5"), await kit.appsIn("?limit=5&offset=0")];
  assert.deepEqual(ids(page), ids(first));
});

const AT_ONCE = 20;
const REQUESTS_MAX = 20_000;

clause("8.rate-limit-403", "over the rate limit", async (kit) => {
  const api = kit.api.as(kit.given("rate-limited-key"));
  for (let asked = 0; asked < REQUESTS_MAX; asked += AT_ONCE) {
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, () => api.get("/apps?limit=1")),
    );
    const refused = answers.find(({ status }) => status >= 300);
    if (refused) return assert.equal(refused.status, 403);
  }
  assert.fail(`no refusal in ${REQUESTS_MAX} requests`);
});

judged("8.answer-time", "an endpoint has 30 seconds to answer a delivery", ({ held: [inTime] }) => {
  assert.ok(inTime?.first?.wasConnected, `the sender was gone before the response ${inTime?.says}`);
});

clause("9.path-segment", "the base URL ends in /v1", async ({ api, target }) => {
  assert.match(target["base-url"], /\/v1$/);
  done(await api.get("/apps"));
});
