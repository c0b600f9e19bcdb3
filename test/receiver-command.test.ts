// The `receiver` command, and how the command line selects a command.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { listen } from "./support/ports.ts";
import { serve } from "./support/process.ts";

/** Asserts one line on stderr and nothing on stdout. */
async function refused(args: readonly string[], exit: number, message: RegExp): Promise<void> {
  const { code, stdout, stderr } = await serve(args).ended;
  assert.deepEqual([code, stdout], [exit, ""], stderr);
  assert.match(stderr, message);
}

const SECRET = ["receiver", "--secret", "s"];

test("receiver: a wrong flag or value prints one line that names it and exits with code 2", async () => {
  await Promise.all([
    refused(["receiver"], 2, /^--secret is missing[^\n]*--help\)\n$/),
    refused([...SECRET, "--prot", "1"], 2, /^[^\n]*--prot'; did you mean --port\?[^\n]*\n$/),
    refused([...SECRET, "--port", "65536"], 2, /^--port must [^\n]*\n$/),
    refused([...SECRET, "--host", "a b"], 2, /^--host must [^\n]*\n$/),
    refused([...SECRET, "--answers", "200,maybe"], 2, /^answers must be [^\n]*\n$/),
    refused(["receivr"], 2, /^[^\n]*'receivr'[^\n]*\n$/),
  ]);
});

test("receiver: a port in use prints one line and exits with code 1", async () => {
  const other = createServer();
  const port = String(await listen(other));
  await refused([...SECRET, "-p", port], 1, new RegExp(`^Port ${port} [^\\n]*--port[^\\n]*\\n$`));
  other.close();
});

test("--help names the receiver, whose own --help lists its flags, and -h, -v and -p are short for the long names", async () => {
  const texts = await Promise.all(
    [["-h"], ["receiver", "-h"], ["-v"]].map(async (args) => {
      const { code, stdout, stderr } = await serve(args).ended;
      assert.deepEqual([code, stderr], [0, ""]);
      return stdout;
    }),
  );
  const [help = "", receiverHelp = "", version = ""] = texts;
  for (const name of ["app-hosting-service receiver", "-p is --port", "-h is --help"])
    assert.ok(help.includes(name), name);
  for (const name of ["--secret", "-p, --port", "--host", "--answers"])
    assert.ok(receiverHelp.includes(name), name);
  assert.match(version, /^\d+\.\d+\.\d+\n$/);
  await refused(["-p", "http"], 2, /^--port must be /);
});

test("receiver: the command prints each delivery with its verdict, and ends with a signal", async () => {
  const flags = "-p 0 --host 0.0.0.0 --secret whsecret --answers 500,200";
  const { child, said, prints, ended } = serve(["receiver", ...flags.split(" ")]);
  await prints("\n");
  const url = said.stdout.replace("Listening on ", "").trim();
  const body = '{"id":"evt_1","type":"app.created"}';
  // openssl dgst -sha256 -hmac whsecret
  const right = "c90b414094d4459e361e838e9c3be44774867757c18deba83885fbf21632319e";
  // The whole of 127.0.0.0/8 is this machine: another address than the default one.
  const post = (hex: string) =>
    fetch(url.replace("localhost", "127.0.0.2"), {
      method: "POST",
      body,
      headers: { "X-Service-Signature": `sha256=${hex}` },
    });
  for (const [hex, status] of Object.entries({ 0: 401, [right]: 500 }))
    assert.equal((await post(hex)).status, status);
  assert.equal((await post(right)).status, 200);
  await prints("answered 200");
  const printed = said.stdout.split("\n").slice(1, 6).join("|");
  assert.match(
    printed,
    /bad signature, answered 401\|.*\|.*new, answered 500\|.*\|.*seen before, answered 200$/,
  );
  assert.equal(printed.split("|")[3]?.trim(), body);
  child.kill("SIGTERM");
  const { code, stderr } = await ended;
  assert.deepEqual([code, stderr], [0, ""]);
});
