// Spec part 9: the version is a segment of the path.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";
import { done } from "../support/shown.ts";

clause("9.path-segment", "the base URL ends in /v1", async ({ api, target }) => {
  assert.match(target["base-url"], /\/v1$/);
  done(await api.get("/apps"));
});
