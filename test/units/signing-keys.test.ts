// Signing keys when two callers need the first one at the same time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { collections } from "../../src/domain/collections.ts";
import { SigningKeys } from "../../src/domain/oauth/access-tokens.ts";
import { memoryStore } from "../../src/store/memory.ts";

for (const [alg, bits] of [
  ["ES256", undefined],
  ["RS256", 2_048],
] as const)
  test(`signing keys: concurrent first uses of ${alg} share one key`, async () => {
    const store = memoryStore();
    await store.open(collections);
    const keys = new SigningKeys(store, alg);
    const [first, second] = await Promise.all([keys.signingKey(), keys.signingKey()]);
    assert.equal(first.kid, second.kid);
    assert.deepEqual(
      (await keys.verificationKeys()).map(({ kid }) => kid),
      [first.kid],
    );
    assert.equal(first.key.asymmetricKeyDetails?.modulusLength, bits);
  });
