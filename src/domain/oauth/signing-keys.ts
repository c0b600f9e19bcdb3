// The keys that sign access tokens. They live in the store, one for each algorithm ever used, so that tokens outlast a
// restart and a reset ends them. A key is made when first needed: an RSA key takes longer than a whole start.
import { createPrivateKey, createPublicKey, generateKeyPair, hash, type JsonWebKey, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { type Clock, iso } from "../../kit/clock.ts";
import { ALGORITHMS, type Algorithm, type JwtKey } from "../../kit/jwt.ts";
import type { Store } from "../store.ts";
import { type SigningKeyRecord, signingKeys } from "./model.ts";

/** Small signatures and a key that is made in no time; RS256 by flag, for clients that know nothing else. */
export const TOKEN_ALGORITHM: Algorithm = "ES256";

const RSA_BITS = 2_048;

const makeKeyPair = promisify(generateKeyPair);

type KeyPair = { readonly private: KeyObject; readonly public: KeyObject };

export class SigningKeys {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #alg: Algorithm;
  /** By PEM: to read it costs as much as a signature. */
  readonly #pairs = new Map<string, KeyPair>();
  /** The making that is under way: an RSA key costs 100 ms of processor, and 50 first requests need one. */
  #making: Promise<SigningKeyRecord> | undefined;

  constructor(store: Store, clock: Clock, alg: Algorithm) {
    this.#store = store;
    this.#clock = clock;
    this.#alg = alg;
  }

  /** The key that new tokens are signed with. */
  async signing(): Promise<JwtKey> {
    const { id: kid, alg, private_key } = await this.#current();
    return { kid, alg, key: this.#pairIn(private_key).private };
  }

  /** Every key whose tokens are taken, by kid. */
  async checking(): Promise<ReadonlyMap<string, JwtKey>> {
    const kept = await this.#kept();
    return new Map(kept.map(({ id, alg, private_key: pem }) => [id, { kid: id, alg, key: this.#pairIn(pem).public }]));
  }

  /** The public keys as RFC 7517 has them; there is always one, since clients fetch them before the first token. */
  async published(): Promise<readonly { readonly [member: string]: string }[]> {
    await this.#current();
    return (await this.#kept()).map(({ id, alg, public_jwk }) => ({ ...public_jwk, kid: id, alg, use: "sig" }));
  }

  #pairIn(pem: string): KeyPair {
    const pair = this.#pairs.get(pem) ?? { private: createPrivateKey(pem), public: createPublicKey(pem) };
    this.#pairs.set(pem, pair);
    return pair;
  }

  async #kept(): Promise<readonly SigningKeyRecord[]> {
    const kept = await Promise.all(ALGORITHMS.map((alg) => this.#store.find(signingKeys, "alg", [alg])));
    return kept.filter((key) => key !== undefined);
  }

  async #current(): Promise<SigningKeyRecord> {
    const kept = await this.#store.find(signingKeys, "alg", [this.#alg]);
    if (kept) return kept;
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  /** Another process on the same store may have been faster: then its key is the one. */
  async #make(): Promise<SigningKeyRecord> {
    const made = await newRecord(this.#alg, iso(this.#clock.now()));
    return this.#store.transact(async (tx) => {
      const kept = await tx.find(signingKeys, "alg", [this.#alg]);
      if (kept === undefined) await tx.put(signingKeys, made);
      return kept ?? made;
    });
  }
}

async function newRecord(alg: Algorithm, created_at: string): Promise<SigningKeyRecord> {
  const { privateKey, publicKey } =
    alg === "ES256"
      ? await makeKeyPair("ec", { namedCurve: "P-256" })
      : await makeKeyPair("rsa", { modulusLength: RSA_BITS });
  const public_jwk = publicMembers(publicKey);
  const private_key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const id = hash("sha256", JSON.stringify(public_jwk), "base64url");
  return { id, alg, private_key, public_jwk, created_at };
}

/** The members that RFC 7638 hashes, in the order in which it hashes them. */
function publicMembers(key: KeyObject): Record<string, string> {
  const { crv, e, kty, n, x, y }: JsonWebKey = key.export({ format: "jwk" });
  const sorted = Object.entries({ crv, e, kty, n, x, y });
  return Object.fromEntries(sorted.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
