// Spec part 9: the version is a segment of the path.
import assert from "node:assert/strict";
import { clause } from "../support/clauses.ts";

clause("9.path-segment", "the base URL ends in /v1", async ({ api, baseUrl }) => {
  assert.match(baseUrl, /\/v1$/);
  assert.equal((await api.get("/apps")).status, 200);
});
