// The receiver that we give to others (contract, part 10), called as a sender would call it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { type ReceiverAnswer, startReceiver } from "../../src/receiver.ts";

const SECRET = "whsecret";
const BODY = '{"id":"evt_1","type":"app.created"}';
// openssl dgst -sha256 -hmac whsecret
const SIGNATURES: Record<string, string> = {
  [BODY]: "c90b414094d4459e361e838e9c3be44774867757c18deba83885fbf21632319e",
  '{"id":"evt_2","type":"app.deleted"}': "b4287c16915924ea5a43d2bb368af78317703ae57e5da8972e1723dbf9981e97",
  "[]": "607507c01558e0fb9e59081963ce6399b08efca59a46765f8667eace39c52a2a",
};

async function post(url: string, body: string, signature = `sha256=${SIGNATURES[body]}`): Promise<number> {
  const response = await fetch(url, { method: "POST", body, headers: { "X-Service-Signature": signature } });
  await response.arrayBuffer();
  return response.status;
}

const started = (answers?: readonly ReceiverAnswer[]) => startReceiver({ secret: SECRET, ...(answers && { answers }) });

test("takes an event once, however often it comes, and keeps its attempts", async () => {
  await using receiver = await started();
  assert.equal(await post(receiver.url, BODY), 200);
  assert.equal(await post(receiver.url, BODY), 200);
  const [received] = receiver.received;
  assert.equal(receiver.received.length, 1);
  assert.deepEqual(
    [received?.id, received?.type, received?.rawBody, received?.attempts.length],
    ["evt_1", "app.created", BODY, 2],
  );
});

test("a bad signature gets 401 and uses up no answer", async () => {
  await using receiver = await started([500, 200]);
  assert.equal(await post(receiver.url, BODY, `sha256=${"0".repeat(64)}`), 401);
  assert.equal(await post(receiver.url, BODY, ""), 401);
  assert.equal(receiver.received.length, 0);
  assert.equal(await post(receiver.url, BODY), 500);
  assert.equal(await post(receiver.url, BODY), 200);
  assert.equal(await post(receiver.url, BODY), 200);
});

test("hangs when told to, and close ends it", async () => {
  await using receiver = await started(["hang"]);
  const answer = post(receiver.url, BODY);
  answer.catch(() => {});
  assert.equal((await receiver.next("app.created")).id, "evt_1");
  await receiver.close();
  await assert.rejects(answer);
});

test("next waits for the type, gives each event once, and says what came instead", async () => {
  await using receiver = await started();
  const waiting = receiver.next("app.deleted", { timeoutMs: 2_000 });
  await post(receiver.url, BODY);
  await post(receiver.url, '{"id":"evt_2","type":"app.deleted"}');
  assert.equal((await waiting).id, "evt_2");
  assert.equal((await receiver.next("app.created")).id, "evt_1");
  await assert.rejects(
    receiver.next("app.created", { timeoutMs: 30 }),
    /No app.created within 30 ms; received: app.created, app.deleted/,
  );
});

test("signed rubbish is no event", async () => {
  await using receiver = await started();
  assert.equal(await post(receiver.url, "[]"), 400);
  assert.equal(receiver.received.length, 0);
});

test("npm run receiver: prints each delivery with its verdict; a wrong flag is one line and status 2", async () => {
  const run = (...args: string[]) =>
    spawn(process.execPath, ["--import", "tsx", "scripts/receiver.ts", ...args], { stdio: "pipe" });
  const child = run("--port", "0", "--secret", SECRET, "--answers", "500,200");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  const url = (await line()).replace("Listening on ", "");
  assert.equal(await post(url, BODY, "sha256=0"), 401);
  assert.equal(await post(url, BODY), 500);
  assert.equal(await post(url, BODY), 200);
  const printed = [await line(), await line(), await line(), await line(), await line()];
  assert.match(printed[0] ?? "", /bad signature, answered 401/);
  assert.match(printed[2] ?? "", /new, answered 500/);
  assert.equal(printed[3]?.trim(), BODY);
  assert.match(printed[4] ?? "", /seen before, answered 200/);
  child.kill();
  await once(child, "exit");
  for (const args of [[], ["--secret", "x", "--answers", "maybe"], ["--secret", "x", "--port", "many"], ["--colour"]]) {
    const wrong = run(...args);
    let told = "";
    wrong.stderr.setEncoding("utf8").on("data", (text) => {
      told += text;
    });
    const [code] = await once(wrong, "close");
    assert.equal(code, 2);
    assert.match(told, /^.*npm run receiver.*\n$/);
  }
});
