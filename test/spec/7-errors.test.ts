// Spec part 7: the two statuses that are shown, and their causes.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";
import type { Answer } from "../support/client.ts";
import { type Kit, NotTried, notTried } from "../support/kit.ts";

clause("7.401", "the causes of 401", async ({ api, target }) => {
  const anyone = api.as(null);
  const credentials = ["Bearer unknown", "nonsense", `Bearer ${target["expired-token"] ?? "unknown"}`];
  for (const headers of [{}, ...credentials.map((authorization) => ({ authorization }))])
    assert.equal((await anyone.get("/apps", headers)).status, 401, JSON.stringify(headers));
});

const CAUSES: Readonly<Record<string, (kit: Kit) => Promise<Answer>>> = {
  "a token without the scope": async (kit) => kit.createApp({}, await kit.holder("read:apps")),
  "a suspended account": async (kit) => kit.api.as(kit.given("suspended-key")).get("/apps"),
  "a limited account": async (kit) => kit.createApp({}, kit.api.as(kit.given("limited-key"))),
};

clause("7.403", "the causes of 403", async (kit) => {
  const missing: string[] = [];
  for (const [cause, ask] of Object.entries(CAUSES))
    try {
      assert.equal((await ask(kit)).status, 403, cause);
    } catch (error) {
      if (!(error instanceof NotTried)) throw error;
      missing.push(error.message);
    }
  if (missing.length === Object.keys(CAUSES).length) notTried(missing.join("; or "));
});
