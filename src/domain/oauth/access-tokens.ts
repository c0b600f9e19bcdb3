// Access tokens: JWTs after RFC 9068 (spec part 5; contract part 5), and the keys that sign them. The grant, client and
// user of a token are loaded at every use. Deleting any of them therefore takes effect with the next request.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  hash,
  type KeyObject,
} from "node:crypto";
import { promisify } from "node:util";
import {
  ALGORITHMS,
  type Algorithm,
  type JwtFault,
  type JwtKey,
  signJwt,
  verifyJwt,
} from "../../lib/jwt.ts";
import { Mutex } from "../../lib/tasks.ts";
import { intersectScopes } from "../credentials.ts";
import { AppError, fail } from "../errors.ts";
import { accounts, oauthClients, type Scope, users } from "../model.ts";
import { collection, type Entity, type Reader, type Store } from "../store.ts";
import type { UnitOfWorkDeps } from "../unit-of-work.ts";
import { parseScope } from "./errors.ts";
import { type GrantRecord, grants } from "./grants.ts";

/** Dependencies of the authorization server, created once the public address is known. */
export interface AuthorizationServer extends UnitOfWorkDeps {
  readonly keys: SigningKeys;
  /** `{auth_url}` */
  readonly issuer: string;
  /** `{base_url}` */
  readonly audience: string;
  /** Cache of access tokens whose signature has been verified. */
  readonly verified: Map<string, VerifiedToken>;
}

export interface VerifiedToken {
  readonly kid: string;
  readonly grantId: string;
  readonly scopes: readonly Scope[];
  /** Seconds since 1970, as in the token. */
  readonly exp: number;
}

/** ES256 has small signatures and fast key generation. A flag selects RS256 for clients that support nothing else. */
export const TOKEN_ALGORITHM: Algorithm = "ES256";
export const ACCESS_TOKEN_LIFETIME_S = 3_600;
/** RFC 9068. */
const TYP = "at+jwt";
/** The client_id, which RFC 9068 requires, of tokens that the service issues itself, without a client. */
const NO_CLIENT = "app-hosting-service";
/** Maximum size of the token cache. When full, it is cleared and tokens are verified again. */
const CACHE_MAX = 10_000;
const RSA_BITS = 2_048;

/** The id is the `kid`: the RFC 7638 thumbprint of the public key, so that it never names another key. */
interface SigningKeyRecord extends Entity {
  readonly alg: Algorithm;
  /** PKCS 8, PEM. */
  readonly private_key: string;
}
export const signingKeys = collection<SigningKeyRecord>()("signing_keys", {}, { alg: ["alg"] });

/** The store holds one key for each algorithm ever used, so that tokens survive a restart but not a reset. */
export class SigningKeys {
  /** Parsed private keys by kid: parsing a PEM takes 0.3 ms, a signature 0.02 ms. */
  readonly #parsedKeys = new Map<string, KeyObject>();
  /** Concurrent first requests need the same key. */
  readonly #generation = new Mutex();

  constructor(
    private readonly store: Store,
    private readonly algorithm: Algorithm,
  ) {}

  /** Returns the key that signs new tokens. It is generated on first use: an RSA key takes longer than a start. */
  async signingKey(): Promise<JwtKey> {
    const { store, algorithm } = this;
    const existing = await this.#find(algorithm);
    if (existing) return existing;
    return this.#generation.run(async () => {
      const concurrent = await this.#find(algorithm);
      if (concurrent) return concurrent;
      const record = await generateKey(algorithm);
      await store.transact((tx) => tx.put(signingKeys, record));
      return this.#parse(record);
    });
  }

  /** Returns every key that can verify a token. */
  async verificationKeys(): Promise<readonly JwtKey[]> {
    const keys = await Promise.all(ALGORITHMS.map((alg) => this.#find(alg)));
    return keys.filter((key) => key !== undefined);
  }

  /** Returns the public keys as a JWK set (RFC 7517), which clients fetch before the first token. */
  async jwks() {
    await this.signingKey();
    const keys = await this.verificationKeys();
    return keys.map(({ kid, alg, key }) => ({ ...toPublicJwk(key), kid, alg, use: "sig" }));
  }

  async #find(alg: Algorithm): Promise<JwtKey | undefined> {
    const record = await this.store.find(signingKeys, "alg", [alg]);
    return record && this.#parse(record);
  }

  #parse({ id, alg, private_key }: SigningKeyRecord): JwtKey {
    const key = this.#parsedKeys.get(id) ?? createPrivateKey(private_key);
    this.#parsedKeys.set(id, key);
    return { kid: id, alg, key };
  }
}

/** Has exactly the members that RFC 7638 hashes. */
const toPublicJwk = (key: KeyObject) => createPublicKey(key).export({ format: "jwk" });

async function generateKey(alg: Algorithm): Promise<SigningKeyRecord> {
  const generate = promisify(generateKeyPair);
  const { privateKey } =
    alg === "ES256"
      ? await generate("ec", { namedCurve: "P-256" })
      : await generate("rsa", { modulusLength: RSA_BITS });
  const sortedMembers = Object.entries(toPublicJwk(privateKey)).sort();
  const thumbprint = JSON.stringify(Object.fromEntries(sortedMembers));
  return {
    id: hash("sha256", thumbprint, "base64url"),
    alg,
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** The jti begins with the grant's id, so that the token leads to its grant without another claim or record. */
export function signAccessToken(
  { clock, ids, issuer, audience }: AuthorizationServer,
  key: JwtKey,
  grant: GrantRecord,
  scopes: readonly Scope[],
): string {
  const issuedAt = Math.floor(clock.now() / 1_000);
  return signJwt(key, TYP, {
    iss: issuer,
    sub: grant.user_id,
    aud: audience,
    client_id: grant.client_id ?? NO_CLIENT,
    scope: scopes.join(" "),
    jti: `${grant.id}.${ids.next("")}`,
    iat: issuedAt,
    exp: issuedAt + ACCESS_TOKEN_LIFETIME_S,
  });
}

/** Returns the token's user, account and current scopes as the caller, or the error that makes it invalid. */
export async function verifyAccessToken(server: AuthorizationServer, token: string) {
  const verified = await verifySignature(server, token);
  if (verified instanceof AppError) return verified;
  if ((await server.store.get(signingKeys, verified.kid)) === undefined)
    return tokenError("untrusted");
  const active = await loadActiveGrant(server.store, verified.grantId);
  if (typeof active === "string") return fail({ code: "invalid_credential", detail: active });
  return {
    account: active.account,
    user: active.user,
    scopes: intersectScopes(verified.scopes, active.user.permissions),
    credential: active.grant.id,
  };
}

/** Verifies signature, claims and expiry. Only valid tokens are cached, so that strangers cannot fill the memory. */
export async function verifySignature(
  { keys, issuer, audience, verified, clock }: AuthorizationServer,
  token: string,
): Promise<VerifiedToken | AppError> {
  const now = clock.now();
  const cached = verified.get(token);
  if (cached !== undefined) return now < cached.exp * 1_000 ? cached : tokenError("expired");
  const result = verifyJwt(token, await keys.verificationKeys(), {
    typ: TYP,
    iss: issuer,
    aud: audience,
    now,
  });
  if ("fault" in result) return tokenError(result.fault);
  // A valid signature means that `signAccessToken` wrote the claims.
  const [grantId = ""] = String(result.claims.jti).split(".");
  const scopes = parseScope(String(result.claims.scope));
  const record = { kid: result.kid, grantId, scopes, exp: Number(result.claims.exp) };
  if (verified.size >= CACHE_MAX) verified.clear();
  verified.set(token, record);
  return record;
}

/** Converts a JWT fault to an error. Any other fault is the name of the claim that does not match. */
function tokenError(fault: JwtFault): AppError {
  if (fault === "expired")
    return fail({
      code: "expired_credential",
      detail: "The access token has expired; POST its refresh_token to /oauth/token.",
    });
  const details: { readonly [F in JwtFault]?: string } = {
    malformed: "The access token is not a well-formed JWT.",
    untrusted: "The access token was not signed by this service.",
  };
  const otherUse = `The access token was made for another use: its ${fault} does not fit.`;
  return fail({ code: "invalid_credential", detail: details[fault] ?? otherUse });
}

/** Loads the grant with its user and account, or returns a sentence saying which part was deleted. */
export async function loadActiveGrant(reader: Reader, id: string) {
  const grant = await reader.get(grants, id);
  if (grant === undefined) return "The access of this application has been revoked.";
  if (grant.client_id !== null && (await reader.get(oauthClients, grant.client_id)) === undefined)
    return "The application was deleted, so its access has been revoked.";
  const user = await reader.get(users, grant.user_id);
  const account = user && (await reader.get(accounts, user.account_id));
  return account
    ? { grant, user, account }
    : "The user was deleted, so the access of this application has been revoked.";
}
