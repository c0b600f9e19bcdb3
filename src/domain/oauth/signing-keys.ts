// Signing keys of access tokens. The store holds one for each algorithm ever used, so that tokens survive a restart but
// not a reset. A key is created when first needed, because generating an RSA key takes longer than a whole start.
import { createPrivateKey, generateKeyPair, hash, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { ALGORITHMS, type Algorithm, type JwtKey } from "../../lib/jwt.ts";
import { Mutex } from "../../lib/tasks.ts";
import { collection, type Entity, type Reader, type Store } from "../store.ts";

/** ES256 has small signatures and fast key generation. A flag selects RS256 for clients that support nothing else. */
export const TOKEN_ALGORITHM: Algorithm = "ES256";

const RSA_BITS = 2_048;

const makeKeyPair = promisify(generateKeyPair);

/** The id is the `kid`: the RFC 7638 thumbprint of the public key, so that it never names another key. */
interface SigningKeyRecord extends Entity {
  readonly alg: Algorithm;
  /** PKCS 8, PEM. */
  readonly private_key: string;
  readonly public_jwk: { readonly [member: string]: string };
}
export const signingKeys = collection<SigningKeyRecord>()("signing_keys", {}, { alg: ["alg"] });

export type SigningKeys = ReturnType<typeof createSigningKeys>;

export function createSigningKeys(store: Store, alg: Algorithm) {
  /** Parsed keys by kid, because parsing the PEM takes ten times as long as a signature. */
  const read = new Map<string, KeyObject>();
  /** Serialises key generation: an RSA key takes 100 ms of CPU, and 50 concurrent first requests need the same one. */
  const making = new Mutex();

  function keyIn({ id: kid, alg, private_key }: SigningKeyRecord): JwtKey {
    const key = read.get(kid) ?? createPrivateKey(private_key);
    read.set(kid, key);
    return { kid, alg, key };
  }

  const found = (reader: Reader, alg: Algorithm) => reader.find(signingKeys, "alg", [alg]);
  const kept = async () =>
    (await Promise.all(ALGORITHMS.map((each) => found(store, each)))).filter(
      (key) => key !== undefined,
    );
  const current = async () =>
    (await found(store, alg)) ?? making.run(async () => (await found(store, alg)) ?? make());

  async function make(): Promise<SigningKeyRecord> {
    const { privateKey, publicKey } =
      alg === "ES256"
        ? await makeKeyPair("ec", { namedCurve: "P-256" })
        : await makeKeyPair("rsa", { modulusLength: RSA_BITS });
    // A public key has exactly the members that RFC 7638 hashes; sorting gives the required order.
    const members = Object.entries(publicKey.export({ format: "jwk" })).sort();
    const public_jwk = Object.fromEntries(members.map(([name, value]) => [name, String(value)]));
    const private_key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const id = hash("sha256", JSON.stringify(public_jwk), "base64url");
    const made = { id, alg, private_key, public_jwk };
    // Use the key of another process on the same store if it was created first.
    return store.transact(async (tx) => {
      const known = await found(tx, alg);
      if (known === undefined) await tx.put(signingKeys, made);
      return known ?? made;
    });
  }

  return {
    /** Returns the key that signs new tokens. */
    signingKey: async () => keyIn(await current()),

    /** Returns every key that can verify a token. */
    verificationKeys: async () => (await kept()).map(keyIn),

    /**
     * Returns the public keys as a JWK set (RFC 7517). Creates one if needed, because clients fetch them before the
     * first token.
     */
    async jwks(): Promise<readonly { readonly [member: string]: string }[]> {
      await current();
      return (await kept()).map(({ id, alg, public_jwk }) => ({
        ...public_jwk,
        kid: id,
        alg,
        use: "sig",
      }));
    },
  };
}
