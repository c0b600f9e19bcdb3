// Two server processes on one store that need their first signing key at the same time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { collections } from "../../src/domain/collections.ts";
import { createSigningKeys } from "../../src/domain/oauth/signing-keys.ts";
import { memoryStore } from "../../src/store/memory.ts";

test("signing keys: two processes that need a key at the same time share one RSA key of 2,048 bits", async () => {
  for (const alg of ["ES256", "RS256"] as const) {
    const store = memoryStore();
    await store.open(collections);
    const [one, two] = [0, 1].map(() => createSigningKeys(store, alg));
    assert.ok(one && two);
    const [first, second] = await Promise.all([one.signingKey(), two.signingKey()]);
    assert.equal(first.kid, second.kid);
    const checking = (await one.verificationKeys()).map(({ kid }) => kid);
    assert.deepEqual(checking, [first.kid]);
    assert.equal(
      first.key.asymmetricKeyDetails?.modulusLength,
      alg === "RS256" ? 2_048 : undefined,
    );
  }
});
