// The README, as somebody reads it: its five minutes are typed into a shell, block by block, and each answer is held
// against the one that is shown ("…" stands for what differs from run to run). The recipes are run in package.test.
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { startService } from "../src/index.ts";
import { startReceiver } from "../src/receiver.ts";
import { Client, str } from "./support/client.ts";
import { closeLater } from "./support/closing.ts";
import { person, returned } from "./support/oauth.ts";
import { shows } from "./support/shows.ts";
import { eventually } from "./support/wait.ts";

const README = readFileSync("README.md", "utf8");
const blocksIn = (text: string) => [...text.matchAll(/^```(sh|text)( receiver)?\n(.*?)^```$/gms)];
const partOf = (title: string) => README.split(/^## /m).find((part) => part.startsWith(title)) ?? "";

class Shell {
  readonly #bash: ChildProcessByStdio<Writable, Readable, null> = spawn("bash", [], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  #said = "";

  constructor() {
    this.#bash.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      this.#said += chunk;
    });
  }

  /** What the commands print. */
  async type(commands: string): Promise<string> {
    this.#said = "";
    this.#bash.stdin.write(`${commands}\necho; echo done\n`);
    while (!this.#said.endsWith("\ndone\n")) await once(this.#bash.stdout, "data");
    return this.#said;
  }

  end(): void {
    this.#bash.stdin.end();
  }
}

test("README: the five minutes go as they are shown", async () => {
  const printed: string[] = [];
  const receiver = await startReceiver({
    secret: "between-us",
    onRequest: ({ verdict, rawBody, headers, answer }) => {
      const attempt = `attempt ${headers["x-service-attempt"]}`;
      printed.push(`${headers["x-service-event"]}, ${attempt}: ${verdict}, answered ${answer}\n  ${rawBody}`);
    },
  });
  closeLater(() => receiver.close());
  await using service = await startService({ apiKey: "try-it-out" });
  const here = (text: string) =>
    text.replaceAll("http://localhost:4600", service.authUrl).replaceAll("http://localhost:4700/", receiver.url);
  const shell = new Shell();
  closeLater(() => shell.end());
  let output = "";
  for (const [, language, ofReceiver, text = ""] of blocksIn(partOf("Five minutes"))) {
    if (language === "text" && ofReceiver === undefined) shows(output, here(text));
    if (ofReceiver !== undefined) shows(await eventually(async () => printed[0]), text);
    if (language !== "sh") continue;
    if (text.includes("$CODE")) await shell.type(`CODE=${await allowed(service, output)}`);
    output = await shell.type(here(text));
  }
  assert.match(output, /access_token/, "the last of it is the token");
});

/** Somebody signs in and allows what the address asks for; answers the code. */
async function allowed({ baseUrl }: { readonly baseUrl: string }, output: string): Promise<string> {
  const api = new Client({ baseUrl, key: "try-it-out" });
  const { browser } = await person(api);
  const [address = ""] = /http\S+authorize\S+/.exec(output) ?? [];
  const answer = await browser.submit(await browser.open(address), "/oauth/consent", { decision: "allow" });
  api.close();
  return str(returned(answer, "http://localhost:8080/").code);
}
