// The vectors were made with openssl, e.g.
//   printf %s "$BODY" | openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf %s "$SECRET" | xxd -p | tr -d '\n')
import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceSignature, standardSignature, verifySignature } from "../../src/kit/signature.ts";

const BODY = '{"id":"evt_1","type":"app.created"}';
const SECRET = "whsecret";
const UNICODE_SECRET = "schlüssel-鍵-🔑";

test("X-Service-Signature matches vectors made with openssl", () => {
  const vectors: [body: string, secret: string, hex: string][] = [
    [BODY, SECRET, "c90b414094d4459e361e838e9c3be44774867757c18deba83885fbf21632319e"],
    [BODY, UNICODE_SECRET, "5b1249ddba5606c8f676bafe297f5cd5d64b01f3d06ada21c4c07a5290fc4307"],
    ["", SECRET, "6e0f18119294395fa7e57cae961c20b44815bceed521300862253fdedef85a12"],
    ["grüße 👋", SECRET, "500d77630ac46b6d90f8255e75473738288cade0a1b8dcab52e42bac7966e822"],
  ];
  for (const [body, secret, hex] of vectors) {
    assert.equal(serviceSignature(body, secret), `sha256=${hex}`);
    assert.equal(verifySignature(Buffer.from(body), `sha256=${hex}`, secret), true);
  }
});

test("webhook-signature matches vectors made with openssl, both secrets during a rotation", () => {
  const old = "v1,D8tK9I4bAMMgnyAwSPUFsHKjEqlg3ORNmilhy/DxUVI=";
  const now = "v1,A0sd2lgg43wBfpO21jye+bQV0AnjGUVSeUHBy78HRQ8=";
  assert.equal(standardSignature("evt_1", 1_767_225_600, BODY, [SECRET]), old);
  assert.equal(standardSignature("evt_1", 1_767_225_600, BODY, [UNICODE_SECRET, SECRET]), `${now} ${old}`);
});

test("verifySignature refuses everything but the exact value", () => {
  const right = serviceSignature(BODY, SECRET);
  const spelt = [right.slice(0, -1), `${right}0`, right.toUpperCase(), right.slice("sha256=".length), ` ${right}`];
  for (const header of [undefined, "", `sha256=${"0".repeat(64)}`, ...spelt])
    assert.equal(verifySignature(BODY, header, SECRET), false, String(header));
  assert.equal(verifySignature(`${BODY} `, right, SECRET), false);
  assert.equal(verifySignature(BODY, right, `${SECRET}2`), false);
  assert.equal(verifySignature(BODY, right, SECRET), true);
});
