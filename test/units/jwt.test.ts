// kit/jwt against tokens that openssl made: what is exactly right is taken, everything else is not (RFC 7515, 8725).
import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { test } from "node:test";
import { type JwtFault, type JwtKey, signJwt, verifyJwt } from "../../src/kit/jwt.ts";
import { EC_PRIVATE, EC_PUBLIC, RSA_PRIVATE, RSA_PUBLIC, TOKENS } from "./jwt-vectors.ts";

const keys = new Map<string, JwtKey>([
  ["ec", { kid: "ec", alg: "ES256", key: createPublicKey(EC_PUBLIC) }],
  ["rsa", { kid: "rsa", alg: "RS256", key: createPublicKey(RSA_PUBLIC) }],
]);
const expected = { typ: "at+jwt", iss: "https://auth.example", aud: "https://auth.example/v1", now: 1_767_225_600_000 };
const CLAIMS = {
  iss: "https://auth.example",
  sub: "usr_1",
  aud: "https://auth.example/v1",
  client_id: "cli_1",
  scope: "read:apps",
  jti: "gra_1.1",
  iat: 1_767_225_600,
  exp: 1_767_229_200,
};

const read = (token: string, now = expected.now) => verifyJwt(token, keys, { ...expected, now });
const refused = (token: string, fault: JwtFault, why: string) => assert.deepEqual(read(token), { fault }, why);

test("jwt: takes what openssl signed with ES256 and RS256", () => {
  for (const [token, kid] of [
    [TOKENS.ES256, "ec"],
    [TOKENS.RS256, "rsa"],
  ] as const) {
    const verdict = read(token);
    assert.ok("claims" in verdict, JSON.stringify(verdict));
    assert.equal(verdict.kid, kid);
    assert.deepEqual({ ...verdict.claims }, CLAIMS);
  }
});

test("jwt: signs RS256 to the byte as openssl does, and ES256 so that it verifies", () => {
  const rsa = signJwt({ kid: "rsa", alg: "RS256", key: createPrivateKey(RSA_PRIVATE) }, "at+jwt", CLAIMS);
  assert.equal(rsa, TOKENS.RS256);
  const ec = signJwt({ kid: "ec", alg: "ES256", key: createPrivateKey(EC_PRIVATE) }, "at+jwt", CLAIMS);
  assert.equal(ec.slice(0, ec.lastIndexOf(".")), TOKENS.ES256.slice(0, TOKENS.ES256.lastIndexOf(".")));
  assert.equal(Buffer.from(ec.split(".")[2] ?? "", "base64url").length, 64);
  assert.ok("claims" in read(ec));
});

test("jwt: the algorithm is the key's, never the token's", () => {
  refused(TOKENS.none, "malformed", "alg none, no signature");
  refused(`${TOKENS.none}AAAA`, "untrusted", "alg none, some signature");
  refused(TOKENS.hs256, "untrusted", "HS256 with the public key as secret");
  refused(TOKENS.algRS, "untrusted", "says RS256, is ES256");
  refused(TOKENS.algES384, "untrusted", "says ES384");
  refused(TOKENS.pss, "untrusted", "PS256 with the RS256 key");
  refused(TOKENS.der, "untrusted", "a DER signature");
});

test("jwt: only a known kid leads to a key", () => {
  refused(TOKENS.otherKid, "untrusted", "unknown kid");
  refused(TOKENS.protoKid, "untrusted", "kid __proto__");
  refused(TOKENS.noKid, "untrusted", "no kid");
});

test("jwt: crit is refused, whatever it asks for", () => refused(TOKENS.crit, "untrusted", "crit"));

test("jwt: typ, iss and aud must be the ones expected", () => {
  for (const name of ["typJwt", "noTyp", "iss", "aud", "audList", "noExp", "expText"] as const)
    refused(TOKENS[name], "foreign", name);
});

test("jwt: exp is exact to the millisecond, without leeway", () => {
  assert.ok("claims" in read(TOKENS.ES256, 1_767_229_199_999));
  assert.deepEqual(read(TOKENS.ES256, 1_767_229_200_000), { fault: "expired" });
});

test("jwt: a tampered part breaks the signature", () => {
  const [header = "", claims = "", signature = ""] = TOKENS.ES256.split(".");
  const richer = Buffer.from(JSON.stringify({ ...CLAIMS, scope: "admin" })).toString("base64url");
  refused(`${header}.${richer}.${signature}`, "untrusted", "claims");
  const turned = Buffer.from(signature, "base64url");
  turned[0] = (turned[0] ?? 0) ^ 1;
  refused(`${header}.${claims}.${turned.toString("base64url")}`, "untrusted", "signature");
  refused(`${header}.${claims}.${signature.slice(0, 43)}`, "malformed", "half a signature");
  refused(`${header}.${claims}.${"A".repeat(86)}`, "untrusted", "a signature of zeros");
});

test("jwt: one spelling only: no padding, no spaces, no bits left over, three parts", () => {
  const [header = "", claims = "", signature = ""] = TOKENS.ES256.split(".");
  const last = signature.at(-1) ?? "";
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const twin = alphabet[alphabet.indexOf(last) ^ 1] ?? "";
  for (const [token, why] of [
    [`${header}.${claims}.${signature.slice(0, -1)}${twin}`, "bits left over"],
    [`${TOKENS.ES256}==`, "padding"],
    [` ${TOKENS.ES256}`, "space before"],
    [`${TOKENS.ES256}\n`, "newline after"],
    [`${header}. ${claims}.${signature}`, "space within"],
    [`${header}.${claims}`, "two parts"],
    [`${TOKENS.ES256}.`, "four parts"],
    [`${header}.${claims}.${signature.replaceAll("-", "+").replaceAll("_", "/")}+`, "plain base64"],
    ["", "nothing"],
    ["..", "three nothings"],
    [TOKENS.claimsList, "claims that are a list"],
    [TOKENS.notUtf8, "claims that are not UTF-8"],
  ] as const)
    refused(token, "malformed", why);
});

test("8.bounds.token-size: 8 KiB at most", () => {
  const claims = Buffer.from(JSON.stringify({ ...CLAIMS, scope: "x".repeat(7_000) })).toString("base64url");
  const [header = "", , signature = ""] = TOKENS.ES256.split(".");
  refused(`${header}.${claims}.${signature}`, "malformed", "10 kB");
  assert.ok("claims" in read(sized(8_192)));
  refused(sized(8_193), "malformed", "one more");
});

/** A token of this length: spaces stand behind its header and its claims. */
function sized(length: number): string {
  const [header, claims] = [JSON.stringify({ typ: "at+jwt", alg: "ES256", kid: "ec" }), JSON.stringify(CLAIMS)];
  const written = (text: string) => Math.ceil((text.length * 4) / 3);
  for (let [first, second] = [header, claims]; ; second += " ") {
    const missing = length - written(first) - written(second) - "..".length - 86;
    if (missing < 0) [first, second] = [`${first} `, claims];
    if (missing === 0) return signed(first, second);
  }
}

/** A token of these very texts, signed as ours are. */
function signed(header: string, claims: string): string {
  const input = [header, claims].map((text) => Buffer.from(text).toString("base64url")).join(".");
  const key = { key: createPrivateKey(EC_PRIVATE), dsaEncoding: "ieee-p1363" } as const;
  return `${input}.${sign("sha256", Buffer.from(input), key).toString("base64url")}`;
}

test("jwt: an exp beyond all numbers never ends, and is refused", () => {
  const header = JSON.stringify({ typ: "at+jwt", alg: "ES256", kid: "ec" });
  assert.ok("claims" in read(signed(header, JSON.stringify(CLAIMS))));
  refused(signed(header, JSON.stringify(CLAIMS).replace(/"exp":\d+/, '"exp":1e999')), "foreign", "exp 1e999");
});

test("jwt: header and claims are objects, and nothing else", () => {
  const header = JSON.stringify({ typ: "at+jwt", alg: "ES256", kid: "ec" });
  for (const text of ["5", '"a"', "true", "null", "[]"]) {
    refused(signed(text, JSON.stringify(CLAIMS)), "malformed", `a header ${text}`);
    refused(signed(header, text), "malformed", `claims ${text}`);
  }
});
