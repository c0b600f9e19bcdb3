// The README as a reader follows it: its five minutes are typed into a shell, block by block, and each output is
// compared with the one shown ("…" stands for varying parts). The recipes are run in package.test.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { startReceiver } from "../src/receiver.ts";
import { closeLater, embedded, eventually, person, returned, shows } from "./support/index.ts";

const README = readFileSync("README.md", "utf8");
const [, FIVE_MINUTES = ""] = /^## Five minutes$(.*?)^## /ms.exec(README) ?? [];

/** A shell; returns the output of the commands typed into it. */
function shell() {
  const { stdin, stdout } = spawn("bash", [], { stdio: ["pipe", "pipe", "inherit"] });
  stdout.setEncoding("utf8");
  closeLater(() => stdin.end());
  return async (commands: string) => {
    stdin.write(`${commands}\necho; echo done\n`);
    let output = "";
    while (!output.endsWith("\ndone\n")) {
      await once(stdout, "readable");
      output += stdout.read() ?? "";
    }
    return output;
  };
}

test("README: the commands of the five minutes print the output shown", async () => {
  const printed: string[] = [];
  const receiver = await startReceiver({
    secret: "between-us",
    onRequest: ({ result: verdict, rawBody, headers, answer }) => {
      const attempt = `attempt ${headers["x-service-attempt"]}`;
      printed.push(
        `${headers["x-service-event"]}, ${attempt}: ${verdict}, answered ${answer}\n  ${rawBody}`,
      );
    },
  });
  closeLater(() => receiver.close());
  await using own = await embedded({ clock: "system" });
  const here = (text: string) =>
    text
      .replaceAll("http://localhost:4600", own.authUrl)
      .replaceAll("http://localhost:4700/", receiver.url);
  const type = shell();
  await type(`API_KEY=${own.service.apiKey}`);
  let output = "";
  for (const [, language, ofReceiver, text = ""] of FIVE_MINUTES.matchAll(
    /^```(sh|text)( receiver)?\n(.*?)^```$/gms,
  )) {
    if (language === "text" && ofReceiver === undefined) shows(output, here(text));
    if (ofReceiver !== undefined) shows(await eventually(async () => printed[0]), text);
    if (language !== "sh") continue;
    if (text.includes("$CODE")) {
      const { browser } = await person(own.api);
      const page = await browser.open(/http\S+authorize\S+/.exec(output)?.[0] ?? "");
      const answer = await browser.submit(page, "/oauth/consent", { decision: "allow" });
      await type(`CODE=${returned(answer, "http://localhost:8080/").code}`);
    }
    output = await type(here(text));
  }
  assert.match(output, /access_token/, "the last of it is the token");
});
