// lib/jwt against tokens made by openssl: it accepts only exactly valid tokens (RFC 7515, RFC 8725).
import assert from "node:assert/strict";
import { createPrivateKey, sign } from "node:crypto";
import { test } from "node:test";
import { type JwtError, type JwtKey, signJwt, verifyJwt } from "../../src/lib/jwt.ts";
import { EC_PRIVATE, RSA_PRIVATE, TOKENS } from "./jwt-vectors.ts";

const secret = (base64: string) =>
  createPrivateKey({ key: Buffer.from(base64, "base64"), format: "der", type: "pkcs8" });
const EC: JwtKey = { kid: "ec", alg: "ES256", key: secret(EC_PRIVATE) };
const RSA: JwtKey = { kid: "rsa", alg: "RS256", key: secret(RSA_PRIVATE) };
const [iss, aud, iat] = ["https://auth.example", "https://auth.example/v1", 1_767_225_600];
const expected = { typ: "at+jwt", iss, aud, now: iat * 1_000 };
const CLAIMS = {
  iss,
  sub: "usr_1",
  aud,
  client_id: "cli_1",
  scope: "read:apps",
  jti: "gra_1.1",
  iat,
  exp: iat + 3600,
};

const HEADER = { typ: "at+jwt", alg: "ES256", kid: "ec" };
const [head, body] = [JSON.stringify(HEADER), JSON.stringify(CLAIMS)];

const read = (token: string, now = expected.now, key = EC) =>
  verifyJwt(token, key, { ...expected, now });

function refused(error: JwtError, tokens: { [why: string]: string }) {
  for (const [why, token] of Object.entries(tokens)) assert.equal(read(token), error, why);
}

/** A token of exactly these texts, signed like our own tokens. */
function signedTexts(header: string, claims: string) {
  const input = [header, claims].map((text) => Buffer.from(text).toString("base64url")).join(".");
  const signature = sign("sha256", Buffer.from(input), { key: EC.key, dsaEncoding: "ieee-p1363" });
  return `${input}.${signature.toString("base64url")}`;
}

/** A token like our own with these members changed; undefined removes a member. */
const signed = (header: object, claims: object = {}) =>
  signedTexts(JSON.stringify({ ...HEADER, ...header }), JSON.stringify({ ...CLAIMS, ...claims }));

test("jwt: tokens signed by openssl with ES256 and RS256 are accepted", () => {
  for (const key of [EC, RSA]) {
    assert.deepEqual(read(TOKENS[key.alg], expected.now, key), CLAIMS);
  }
});

test("jwt: RS256 signatures equal openssl's byte for byte, and ES256 signatures verify", () => {
  assert.equal(signJwt(RSA, "at+jwt", CLAIMS), TOKENS.RS256);
  assert.deepEqual(read(signJwt(EC, "at+jwt", CLAIMS)), CLAIMS);
});

test("jwt: the kid must be that of the key, the key determines the algorithm, and crit is rejected", () => {
  assert.deepEqual(read(signed({})), CLAIMS);
  refused("untrusted", {
    "alg none, some signature": `${TOKENS.none}AAAA`,
    "HS256 with the public key as secret": TOKENS.hs256,
    "says RS256, is ES256": TOKENS.algRS,
    "PS256 with the RS256 key": TOKENS.pss,
    "a DER signature": TOKENS.der,
    "unknown kid": signed({ kid: "other" }),
    "no kid": signed({ kid: undefined }),
    crit: signed({ crit: ["exp"], exp: 1 }),
  });
});

test("jwt: typ, iss and aud must match the expected values, and exp must be a number", () => {
  refused("typ", { "another typ": signed({ typ: "JWT" }), "no typ": signed({ typ: undefined }) });
  refused("iss", { "another iss": signed({}, { iss: "https://evil.example" }) });
  refused("aud", {
    "another aud": signed({}, { aud: "https://auth.example/v2" }),
  });
  refused("exp", {
    "no exp": signed({}, { exp: undefined }),
  });
});

test("jwt: exp is exact to the millisecond, without leeway", () => {
  assert.deepEqual(read(TOKENS.ES256, 1_767_229_199_999), CLAIMS);
  assert.equal(read(TOKENS.ES256, 1_767_229_200_000), "expired");
});

const [header = "", claims = "", signature = ""] = TOKENS.ES256.split(".");

test("jwt: only one spelling is accepted: no padding, spaces or leftover bits, three parts, two objects", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const twin = alphabet[alphabet.indexOf(signature.at(-1) ?? "") ^ 1] ?? "";
  refused("malformed", {
    "no signature": TOKENS.none,
    "bits left over": `${header}.${claims}.${signature.slice(0, -1)}${twin}`,
    padding: `${TOKENS.ES256}==`,
    "space before": ` ${TOKENS.ES256}`,
    "four parts": `${TOKENS.ES256}.`,
    "plain base64": `${header}.${claims}.${signature.replaceAll("-", "+").replaceAll("_", "/")}+`,
    nothing: "",
  });
  for (const text of ["5", "null"])
    refused("malformed", {
      [`a header ${text}`]: signedTexts(text, body),
      [`claims ${text}`]: signedTexts(head, text),
    });
});

test("8.bounds.token-size: a token has at most 8 KiB", () => {
  assert.deepEqual(read(sized(8_192)), CLAIMS);
  refused("malformed", { "one more": sized(8_193) });
});

/** A token of this length, padded with spaces after its claims and, if needed, one after its header. */
function sized(length: number) {
  for (let claims = body.padEnd(6_000); ; claims += " ")
    for (const header of [head, `${head} `]) {
      const token = signedTexts(header, claims);
      if (token.length === length) return token;
    }
}
