// Runs the clauses of test/spec against any implementation of the specification, and reports how it reads the gaps:
//   npm run conformance -- --base-url https://host/v1 --api-key KEY [--only 6.signature]
// Runs one clause against this server: npm run clause 6.signature
// Exit code 0 if nothing failed, 1 if something did, 2 for wrong usage or if no clause could run.
import { spawn } from "node:child_process";
import * as consumed from "node:stream/consumers";
import { exitWithUsage, flagOption, parseOptions, textOption } from "./arguments.ts";
import { judge } from "./conformance/judge.ts";
import { ownTarget } from "./conformance/own.ts";
import { FORMS, reportOf } from "./conformance/report.ts";
import { type Target, TEXTS, Unreachable } from "./conformance/target.ts";

const forms = Object.keys(FORMS).join(", ");
const USE =
  "conformance -- --base-url URL --api-key KEY; what a client cannot make is tried where it is given";
const [asked, wrong] = parseOptions(USE, {
  ...TEXTS,
  "sign-in": textOption(
    '"COMMAND {authorize_url}"',
    "signs in, consents and prints the URL that the browser was sent back to",
  ),
  token: {
    ...textOption(
      "SCOPES=TOKEN",
      "an access token, such as read:apps=eyJ… (repeatable; commas between scopes)",
      ["SCOPES=TOKEN", /^[^=]+=./],
    ),
    multiple: true,
  },
  only: textOption("ID", "only clauses whose id begins so, such as 6.signature or 8", [
    "the beginning of a clause's id",
    /^(\d[\w.-]*)?$/,
  ]),
  report: textOption("FORM", forms, [`one of ${forms}`, /^(text|json)$/]),
  slow: flagOption("waits for the real 30 seconds of part 6"),
  own: flagOption("in place of URL and key: this server, with all that can be given"),
});
const { only = "", report: form = "text", own = false, slow, "sign-in": command } = asked;

/** Runs the command in a shell, as the user typed it. */
async function signedIn(command: string, authorizeUrl: string) {
  const line = command.replaceAll("{authorize_url}", `'${authorizeUrl.replaceAll("'", "%27")}'`);
  const { stdout } = spawn(line, { shell: true, stdio: ["ignore", "pipe", "inherit"] });
  return (await consumed.text(stdout)).trim().split("\n").at(-1) ?? "";
}

function givenTarget(): Target {
  for (const names of [
    ["client-id", "client-secret", "redirect-uri"] as const,
    ["receiver-url", "receiver-port"] as const,
  ])
    if (new Set(names.map((name) => asked[name] === undefined)).size > 1)
      wrong(`${names.map((name) => `--${name}`).join(", ")} must be given together.`);
  return {
    ...asked,
    "base-url": asked["base-url"] ?? wrong("--base-url is missing."),
    "api-key": asked["api-key"] ?? wrong("--api-key is missing."),
    "sign-in":
      command === undefined ? undefined : (authorizeUrl) => signedIn(command, authorizeUrl),
  };
}

await using mine = own ? await ownTarget() : undefined;
const target = mine ? { ...mine.target, slow } : givenTarget();
const { profile, results } = await judge(target, only).catch((error: unknown) => {
  if (error instanceof Unreachable) return exitWithUsage(error.message, "Nothing was judged.");
  throw error;
});
if (results.length === 0) wrong(`No clause begins with ${only}.`);
const report = reportOf(target["base-url"], { profile, results });
const { sums } = report;
console.log(FORMS[form]?.(report));
if (sums.shown + sums.failed === 0)
  exitWithUsage("Nothing could be tried:", "what is missing stands above.");
process.exitCode = sums.failed > 0 ? 1 : 0;
