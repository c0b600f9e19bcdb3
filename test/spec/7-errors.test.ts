// Spec part 7: the two statuses that are shown, and their causes.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";
import { type Kit, NotTried, notTried } from "../support/kit.ts";

clause("7.401", "the causes of 401", async ({ api, target }) => {
  const anyone = api.as(null);
  for (const authorization of [
    undefined,
    "Bearer unknown",
    "nonsense",
    target.expiredToken && `Bearer ${target.expiredToken}`,
  ]) {
    if (authorization === "") continue;
    const answer = await anyone.get("/apps", authorization === undefined ? {} : { authorization });
    assert.equal(answer.status, 401);
  }
});

const CAUSES: readonly (readonly [cause: string, status: (kit: Kit) => Promise<number>])[] = [
  ["a token without the scope", async (kit) => (await kit.createApp({}, await kit.holder("read:apps"))).status],
  [
    "a suspended account",
    async (kit) => (await kit.api.as(kit.given("suspendedKey", "--suspended-key")).get("/apps")).status,
  ],
  [
    "a limited account",
    async (kit) => (await kit.createApp({}, kit.api.as(kit.given("limitedKey", "--limited-key")))).status,
  ],
];

clause("7.403", "the causes of 403", async (kit) => {
  const missing: string[] = [];
  for (const [cause, statusOf] of CAUSES)
    try {
      assert.equal(await statusOf(kit), 403, cause);
    } catch (error) {
      if (!(error instanceof NotTried)) throw error;
      missing.push(error.message);
    }
  if (missing.length === CAUSES.length) notTried(missing.join("; or "));
});
