// Holds any implementation of the specification to the black-box tests of this repository:
//   npm run conformance -- --base-url https://host/v1 --api-key KEY [--choices] [--only 6.signature]
// and this server to one of them: npm run clause 6.signature
// The report has a line for each clause - shown, chosen, skipped with its reason, or failed with what was wrong - and the
// sums; exit code 0 where nothing failed, 1 where something did, 2 for wrong use.
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { run } from "node:test";
import { styleText } from "node:util";
import { given, wrongUse } from "./arguments.ts";

const USE = `Usage: npm run conformance -- --base-url URL --api-key KEY
  --base-url URL   the REST API of the implementation, which ends in /v1
  --api-key KEY    a key of an account that tests may use
  --choices        hold it to the choices of this server, too, where the specification is silent
  --only ID        only clauses whose id starts so, such as 6.signature
  --own            in place of URL and key: this server, with its choices`;

const [string, flag] = [{ type: "string" }, { type: "boolean" }] as const;
const options = { "base-url": string, "api-key": string, only: string, choices: flag, own: flag } as const;
const { "base-url": baseUrl = "", "api-key": apiKey, choices, own, only = "" } = given(options, USE);
if (!own && !URL.canParse(baseUrl)) wrongUse("--base-url must be a URL.", USE);
if (!own && apiKey === undefined) wrongUse("--api-key is missing.", USE);
if (!/^(\d[\w.-]*)?$/.test(only)) wrongUse("--only must be the beginning of a clause's id.", USE);

const NAME = /^(?<id>\d[\w.-]*)(?<ours> \(our choice\))?: (?<requirement>.*)$/s;
const VERDICTS = { shown: "green", chosen: "green", skipped: "dim", failed: "red" } as const;
const LINES_MAX = 6;
const sums = { shown: 0, chosen: 0, skipped: 0, failed: 0 };

interface Outcome {
  readonly name: string;
  readonly skip?: string | boolean | undefined;
}

/** What became of a clause, or of a file that could not even be read; nothing is said of what was not asked for. */
function tell({ name, skip = false }: Outcome, error?: Error): void {
  const passed = error === undefined;
  const { id = name, ours, requirement } = NAME.exec(name)?.groups ?? {};
  if (String(skip).includes("pattern") || (passed && requirement === undefined)) return;
  const verdict = !passed ? "failed" : skip !== false ? "skipped" : ours ? "chosen" : "shown";
  sums[verdict] += 1;
  const why = skip === false ? "" : ` (${String(skip)})`;
  console.log(`${styleText(VERDICTS[verdict], verdict.padEnd(7))} ${id.padEnd(34)} ${requirement ?? ""}${why}`);
  if (passed) return;
  const { message } = error.cause instanceof Error ? error.cause : error;
  const lines = message.split("\n").filter((line) => line.trim() !== "");
  // Every line carries the id, so that one of them alone can be understood.
  for (const line of lines.slice(0, LINES_MAX)) console.log(`        ${id}: ${line}`);
}

if (!own) Object.assign(process.env, { CONFORMANCE_BASE_URL: baseUrl, CONFORMANCE_API_KEY: apiKey });
const beginning = only === "" ? "\\d" : only.replaceAll(".", "\\.");
const events = run({
  files: (choices || own ? ["test/spec", "test/choices"] : ["test/spec"])
    .flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}`))
    .filter((path) => readFileSync(path, "utf8").includes(`"${only}`)),
  // One file after the other: the tests of one account would get in each other's way.
  concurrency: 1,
  testNamePatterns: [new RegExp(`^${beginning}[\\w.-]*( \\(our choice\\))?: `)],
});
events.on("test:pass", (outcome) => tell(outcome)).on("test:fail", (outcome) => tell(outcome, outcome.details.error));
await once(events.resume(), "end");
const said = Object.entries(sums).map(([verdict, sum]) => `${sum} ${verdict}`);
console.log(`\n${said.join(", ")}`);
if (Object.values(sums).every((sum) => sum === 0)) wrongUse(`No clause begins with ${only}.`, USE);
process.exitCode = sums.failed > 0 ? 1 : 0;
