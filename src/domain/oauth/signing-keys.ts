// The keys that sign access tokens. They live in the store, one for each algorithm ever used, so that tokens outlast a
// restart and a reset ends them. A key is made when first needed: an RSA key takes longer than a whole start.
import { createPrivateKey, generateKeyPair, hash, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { ALGORITHMS, type Algorithm, type JwtKey } from "../../lib/jwt.ts";
import { Mutex } from "../../lib/tasks.ts";
import { collection, type Entity, type Reader, type Store } from "../store.ts";

/** Small signatures and a key that is made in no time; RS256 by flag, for clients that know nothing else. */
export const TOKEN_ALGORITHM: Algorithm = "ES256";

const RSA_BITS = 2_048;

const makeKeyPair = promisify(generateKeyPair);

/** The id is the `kid`: the RFC 7638 thumbprint of the public key, so that it never stands for another key. */
interface SigningKeyRecord extends Entity {
  readonly alg: Algorithm;
  /** PKCS 8, PEM. */
  readonly private_key: string;
  readonly public_jwk: { readonly [member: string]: string };
}
export const signingKeys = collection<SigningKeyRecord>()("signing_keys", {}, { alg: ["alg"] });

export type SigningKeys = ReturnType<typeof createSigningKeys>;

export function createSigningKeys(store: Store, alg: Algorithm) {
  /** By kid: to read the PEM costs ten times as much as a signature. */
  const read = new Map<string, KeyObject>();
  /** An RSA key costs 100 ms of processor, and 50 first requests need one. */
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
    // The members that RFC 7638 hashes, in the order in which it hashes them: a public key has no others.
    const members = Object.entries(publicKey.export({ format: "jwk" })).sort();
    const public_jwk = Object.fromEntries(members.map(([name, value]) => [name, String(value)]));
    const private_key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const id = hash("sha256", JSON.stringify(public_jwk), "base64url");
    const made = { id, alg, private_key, public_jwk };
    // Another process on the same store may have been faster: then its key is the one.
    return store.transact(async (tx) => {
      const known = await found(tx, alg);
      if (known === undefined) await tx.put(signingKeys, made);
      return known ?? made;
    });
  }

  return {
    /** The key that new tokens are signed with. */
    signingKey: async () => keyIn(await current()),

    /** Every key whose tokens are taken. */
    verificationKeys: async () => (await kept()).map(keyIn),

    /** The public keys as RFC 7517 has them; there is always one, since clients fetch them before the first token. */
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
