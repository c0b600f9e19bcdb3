// The vectors were made with openssl, e.g.
//   printf %s "$BODY" | openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf %s "$SECRET" | xxd -p | tr -d '\n')
import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { test } from "node:test";
import { serviceSignature, standardSignature, verifySignature } from "../../src/kit/signature.ts";

const BODY = '{"id":"evt_1","type":"app.created"}';
const SECRET = "whsecret";
const UNICODE_SECRET = "schlüssel-鍵-🔑";

test("webhook-signature matches vectors made with openssl, both secrets during a rotation", () => {
  const old = "v1,D8tK9I4bAMMgnyAwSPUFsHKjEqlg3ORNmilhy/DxUVI=";
  const now = "v1,A0sd2lgg43wBfpO21jye+bQV0AnjGUVSeUHBy78HRQ8=";
  assert.equal(standardSignature("evt_1", 1_767_225_600, BODY, [SECRET]), old);
  assert.equal(standardSignature("evt_1", 1_767_225_600, BODY, [UNICODE_SECRET, SECRET]), `${now} ${old}`);
});

test("verifySignature refuses everything but the exact value", () => {
  const right = serviceSignature(BODY, SECRET);
  const spelt = [right.slice(0, -1), `${right}0`, right.toUpperCase(), right.slice("sha256=".length), ` ${right}`];
  for (const header of [undefined, null, [right], "", `sha256=${"0".repeat(64)}`, ...spelt])
    assert.equal(verifySignature(BODY, header, SECRET), false, String(header));
  assert.equal(verifySignature(`${BODY} `, right, SECRET), false);
  assert.equal(verifySignature(BODY, right, `${SECRET}2`), false);
  const node: IncomingHttpHeaders = { "x-service-signature": right };
  for (const header of [
    node["x-service-signature"],
    new Headers([["X-Service-Signature", right]]).get("x-service-signature"),
  ])
    assert.equal(verifySignature(BODY, header, SECRET), true, "as it comes, without a word about its type");
});
