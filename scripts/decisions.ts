// Whether the code runs on the register: each row in turn is given its other reading, and a test that bears the row's id
// must fail. A row that nothing depends on is a wrong row. That the tests pass on the choices themselves, `npm test` says.
// Ids on the command line check those rows only.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { DECISIONS } from "../src/decisions.ts";

const AT_ONCE = 2;
const PATIENCE_MS = 180_000;
const LOADED = ["--import", "tsx", "--import", "./test/support/other-choice.ts", "--test-reporter", "tap"];

const files = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => ({ path: `test/${name}`, text: readFileSync(`test/${name}`, "utf8") }));

/** An id and its facets, as tests bear them. */
const borne = (id: string): string => `${id.replaceAll(".", "\\.")}(?![\\w-])`;

/** The files with tests of the row; where more of them are, one sooner fails. */
function filesOf(id: string): readonly string[] {
  const uses = new RegExp(`"${borne(id)}`, "g");
  const counted = files.map(({ path, text }) => ({ path, count: text.match(uses)?.length ?? 0 }));
  return counted
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .map(({ path }) => path);
}

/** The first test of the row that fails under the other reading. */
async function noticedBy(id: string): Promise<string | undefined> {
  const failure = new RegExp(`^ *not ok \\d+ - (${borne(id)}.*)`, "m");
  for (const path of filesOf(id)) {
    const args = [...LOADED, "--test-name-pattern", `^${borne(id)}`, path];
    const options = { env: { ...process.env, OTHER_CHOICE: id }, timeout: PATIENCE_MS, maxBuffer: 2 ** 26 };
    const said = await new Promise<string>((resolve) =>
      execFile(process.execPath, args, options, (_, stdout) => resolve(stdout)),
    );
    const [, name] = failure.exec(said) ?? [];
    if (name !== undefined) return name;
  }
  return undefined;
}

const asked = process.argv.slice(2);
const waiting = Object.keys(DECISIONS).filter((id) => asked.length === 0 || asked.includes(id));
const unnoticed: string[] = [];
async function take(): Promise<void> {
  for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
    const name = await noticedBy(id);
    if (name === undefined) unnoticed.push(id);
    process.stdout.write(`${name === undefined ? "NOTHING FAILS" : "ok"}  ${name ?? id}\n`);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, take));
process.stdout.write(unnoticed.length === 0 ? "Each choice is held.\n" : `Held by nothing: ${unnoticed.join(", ")}.\n`);
process.exitCode = unnoticed.length === 0 ? 0 : 1;
