// The key that signs access tokens, one for each algorithm, and its public form (RFC 7517; contract part 5).
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import type { Algorithm, JwtKey } from "../../lib/jwt.ts";
import { sha256Base64url } from "../credentials.ts";
import { collection, type Entity, type Store } from "../store.ts";

const RSA_BITS = 2_048;

/** The store holds the key, so that tokens survive a restart but not a reset. The id is the algorithm. */
interface SigningKeyRecord extends Entity {
  readonly id: Algorithm;
  /** The RFC 7638 thumbprint of the public key, so that it never names another key. */
  readonly kid: string;
  /** PKCS 8, PEM. */
  readonly private_key: string;
}
export const signingKeys = collection<SigningKeyRecord>()("signing_keys");

const toJwtKey = ({ id, kid, private_key }: SigningKeyRecord): JwtKey => ({
  kid,
  alg: id,
  key: createPrivateKey(private_key),
});

/** Returns the key that signs new tokens. It is generated on first use: an RSA key takes longer than a start. */
export async function getSigningKey(store: Store, algorithm: Algorithm): Promise<JwtKey> {
  const storedKey = await store.get(signingKeys, algorithm);
  if (storedKey) return toJwtKey(storedKey);
  const newKey = await generateKey(algorithm);
  return store.transact(async (tx) => {
    // A concurrent first use may have stored its key already.
    const record = (await tx.get(signingKeys, algorithm)) ?? newKey;
    await tx.put(signingKeys, record);
    return toJwtKey(record);
  });
}

/** Returns the public key as a JWK set (RFC 7517), which clients fetch before the first token. */
export async function getPublicKeys(store: Store, algorithm: Algorithm) {
  const { kid, alg, key } = await getSigningKey(store, algorithm);
  return { keys: [{ ...toPublicJwk(key), kid, alg, use: "sig" }] };
}

/** Has exactly the members that RFC 7638 hashes. */
const toPublicJwk = (key: KeyObject) => createPublicKey(key).export({ format: "jwk" });

async function generateKey(id: Algorithm): Promise<SigningKeyRecord> {
  const generate = promisify(generateKeyPair);
  const { privateKey } =
    id === "ES256"
      ? await generate("ec", { namedCurve: "P-256" })
      : await generate("rsa", { modulusLength: RSA_BITS });
  const sortedMembers = Object.entries(toPublicJwk(privateKey)).sort();
  return {
    id,
    kid: sha256Base64url(JSON.stringify(Object.fromEntries(sortedMembers))),
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
