// Holds any implementation of the specification to the black-box tests of this repository:
//   npm run conformance -- --base-url https://host/v1 --api-key KEY [--choices] [--only 6.signature]
// The report goes clause by clause; exit code 0 where nothing failed, 1 where something did, 2 for wrong use.
import { readdirSync } from "node:fs";
import { run } from "node:test";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { report } from "./conformance/report.ts";

const USE = `Usage: npm run conformance -- --base-url URL --api-key KEY
  --base-url URL   the REST API of the implementation, which ends in /v1
  --api-key KEY    a key of an account that tests may use
  --choices        hold it to the choices of this server, too, where the specification is silent
  --only ID        only clauses whose id starts so, such as 6.signature`;

const root = fileURLToPath(new URL("..", import.meta.url));

function wrongUse(why: string): never {
  process.stderr.write(`${why}\n${USE}\n`);
  process.exit(2);
}

function given() {
  const options = {
    "base-url": { type: "string" },
    "api-key": { type: "string" },
    choices: { type: "boolean" },
    only: { type: "string" },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return wrongUse(error instanceof Error ? error.message : String(error));
  }
}

const { "base-url": baseUrl, "api-key": apiKey, choices, only = "" } = given();
if (baseUrl === undefined || !URL.canParse(baseUrl)) wrongUse("--base-url must be a URL.");
if (apiKey === undefined) wrongUse("--api-key is missing.");
if (!/^(\d[\w.-]*)?$/.test(only)) wrongUse("--only must be the beginning of a clause's id.");

const beginning = only === "" ? "\\d" : only.replaceAll(".", "\\.");
process.chdir(root);
process.env.CONFORMANCE_BASE_URL = baseUrl;
process.env.CONFORMANCE_API_KEY = apiKey;
if (choices) process.env.CONFORMANCE_CHOICES = "1";

const events = run({
  files: readdirSync("test")
    .filter((name) => /^[1-9]-.*\.test\.ts$/.test(name) && name.startsWith(only.slice(0, 1)))
    .map((name) => `test/${name}`),
  // One file after the other: the tests of one account would get in each other's way.
  concurrency: 1,
  testNamePatterns: [new RegExp(`^${beginning}[\\w.-]*( \\(our choice\\))?: `)],
});
const failed = await report(events, (line) => process.stdout.write(`${line}\n`));
process.exitCode = failed > 0 ? 1 : 0;
