// Spec part 7: the two statuses that are shown, and their causes.
import assert from "node:assert/strict";
import { clause } from "../support/clauses.ts";

clause("7.401", "the causes of 401", async ({ api }) => {
  const anyone = api.as(null);
  for (const answer of [await anyone.get("/apps"), await api.as("unknown").get("/apps")])
    assert.equal(answer.status, 401);
  assert.equal((await anyone.get("/apps", { authorization: "nonsense" })).status, 401);
});

clause("7.403", "the causes of 403", { rateLimit: 1 }, async ({ api }) => {
  assert.equal((await api.get("/apps")).status, 200);
  assert.equal((await api.get("/apps")).status, 403);
});
