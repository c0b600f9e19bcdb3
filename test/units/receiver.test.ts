// The tools for receivers: signatures, and the receiver, called as a sender calls it. The tests in
// test/embedding rely on the receiver to verify signatures and to list each event once.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { standardSignature, verifySignature } from "../../src/lib/signature.ts";
import type { ReceiverAnswer } from "../../src/options.ts";
import { startReceiver } from "../../src/receiver.ts";

const SECRET = "whsecret";
const BODY = '{"id":"evt_1","type":"app.created"}';
/** openssl dgst -sha256 -hmac whsecret */
const SIGNATURES: Record<string, string> = {
  [BODY]: "c90b414094d4459e361e838e9c3be44774867757c18deba83885fbf21632319e",
  '{"id":"evt_2","type":"app.deleted"}':
    "b4287c16915924ea5a43d2bb368af78317703ae57e5da8972e1723dbf9981e97",
  "[]": "607507c01558e0fb9e59081963ce6399b08efca59a46765f8667eace39c52a2a",
};

/** The Standard Webhooks signature of the body, sent on 2026-01-01. */
const standard = (secret: string) => standardSignature("evt_1", 1_767_225_600, BODY, secret);

test("webhook-signature uses the decoded bytes of whsec_ and base64 as its key, and the raw bytes of any other secret", () => {
  // openssl dgst -sha256 -mac HMAC -macopt hexkey:… of evt_1.1767225600. and the body
  for (const [secret, signature] of Object.entries({
    [SECRET]: "D8tK9I4bAMMgnyAwSPUFsHKjEqlg3ORNmilhy/DxUVI=",
    "schlüssel-鍵-🔑": "A0sd2lgg43wBfpO21jye+bQV0AnjGUVSeUHBy78HRQ8=",
    whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3: "fi7ZBLP3pQzEizkza4L8aw1yBfc5Wx8YLNg2wTi0dMs=",
    whsec_YQ: "Mnyq5s4nVXLEfsiBEnTcpQNk9o9ldbR1qELiQT8dhHY=",
    "whsec_+/8=": "az6wr3aOZdcPRjeSMRwvDdF0bxoCTef0YePqpVe1oR8=",
    // A secret with invalid or empty base64 is used as raw bytes.
    whsec_: "UKehcboUHVpvUi1zsqhBJZ0dXtHj/D3wEnXfBDOpmOo=",
    "whsec_abc-_123": "zMPuO/abObfkQWH382K58Pnf8wOQlVcvVtXW97jtg6g=",
  }))
    assert.equal(standard(secret), `v1,${signature}`, secret);
});

test("verifySignature rejects every value except the exact one", () => {
  const right = `sha256=${SIGNATURES[BODY]}`;
  for (const header of [
    undefined,
    null,
    [right],
    "",
    `sha256=${"0".repeat(64)}`,
    `${right}0`,
    right.toUpperCase(),
    right.slice("sha256=".length),
  ])
    assert.equal(verifySignature(BODY, header, SECRET), false, String(header));
  assert.equal(verifySignature(`${BODY} `, right, SECRET), false);
  assert.equal(verifySignature(BODY, right, `${SECRET}2`), false);
  assert.equal(verifySignature(Buffer.from(BODY), right, SECRET), true);
});

async function post(url: string, body: string, signature = `sha256=${SIGNATURES[body]}`) {
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: { "X-Service-Signature": signature },
  });
  await response.arrayBuffer();
  return response.status;
}

const started = (answers?: readonly ReceiverAnswer[]) =>
  startReceiver({ secret: SECRET, ...(answers && { answers }) });

test("the receiver sends its responses in order and repeats the last one; close ends a hanging response", async () => {
  await using receiver = await started([500, "hang"]);
  assert.equal(await post(receiver.url, BODY), 500);
  const answers = [
    post(receiver.url, BODY),
    post(receiver.url, '{"id":"evt_2","type":"app.deleted"}'),
  ];
  for (const answer of answers) answer.catch(() => {});
  assert.equal((await receiver.next("app.deleted")).id, "evt_2");
  await receiver.close();
  for (const answer of answers) await assert.rejects(answer);
});

test("startReceiver rejects an invalid response or secret", async () => {
  const start = (options: object) => Reflect.apply(startReceiver, undefined, [options]);
  for (const options of [
    { secret: "" },
    { secret: 1 },
    ...["0x1F4", 200.5, 600, null].map((answer) => ({ secret: "s", answers: [200, answer] })),
  ])
    await assert.rejects(start(options), /^OptionError: (secret|answers) must /);
});

test("next waits for an event type beyond Node's timer limit, returns each event once, and lists the events received instead", async () => {
  await using receiver = await started();
  const waiting = receiver.next("app.deleted", { timeoutMs: 2 ** 31 });
  await post(receiver.url, BODY);
  await post(receiver.url, '{"id":"evt_2","type":"app.deleted"}');
  assert.equal((await waiting).id, "evt_2");
  assert.equal(
    (await receiver.next("app.created", { timeoutMs: -0.5 })).id,
    "evt_1",
    "which has come before",
  );
  const none = receiver.next("app.created", { timeoutMs: 30 });
  await assert.rejects(none, /No app.created within 30 ms; received: app.created, app.deleted/);
});

test("the receiver rejects a signed body that is not an event, and does not catch an exception of onRequest", async () => {
  // Instead of the test runner, which would fail this test.
  process.removeAllListeners("unhandledRejection");
  const rejection = once(process, "unhandledRejection");
  await using receiver = await startReceiver({ secret: SECRET, onRequest: () => assert.fail() });
  assert.equal(await post(receiver.url, "[]"), 400);
  assert.equal(receiver.received.length, 0);
  assert.equal(await post(receiver.url, BODY), 200);
  await rejection;
});
