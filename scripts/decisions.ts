// Whether the code runs on the register: each choice in turn is given its other reading, one that is an object member by
// member, and a test that bears the row's id must fail. A choice that nothing depends on is a wrong row. That the tests pass
// on the choices themselves, `npm test` says. Ids on the command line check those rows only.
import { execFile } from "node:child_process";
import { DECISIONS, type Decision } from "../src/decisions.ts";
import { sourcesIn } from "../test/support/sources.ts";
import { pool } from "./pool.ts";

const AT_ONCE = 2;
const PATIENCE_MS = 180_000;
const LOADED = ["--import", "tsx", "--import", "./test/support/other-choice.ts", "--test-reporter", "tap"];

const files = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));

/** An id and its facets, as tests bear them. */
const borne = (id: string): string => `${id.replaceAll(".", "\\.")}(?![\\w-])`;

/** The files with tests of the row. */
const filesOf = (id: string) => files.filter(({ text }) => new RegExp(`"${borne(id)}`).test(text));

/** What is switched of a row, as other-choice takes it. */
function switched([id, { choice }]: [string, Decision]): readonly string[] {
  const plain = typeof choice.is === "object" && !Array.isArray(choice.is);
  const or = new Map(Object.entries(Object(choice.or)));
  const members = Object.entries(Object(plain && choice.is)).filter(
    ([name, is]) => or.has(name) && or.get(name) !== is,
  );
  return members.length === 0 ? [id] : members.map(([name]) => `${id}/${name}`);
}

/** The first test of the row that fails under the other reading. */
async function noticedBy(choice: string): Promise<string | undefined> {
  const [id = ""] = choice.split("/");
  const failure = new RegExp(`^ *not ok \\d+ - (${borne(id)}.*)`, "m");
  for (const { path } of filesOf(id)) {
    const args = [...LOADED, "--test-name-pattern", `^${borne(id)}`, path];
    const options = { env: { ...process.env, OTHER_CHOICE: choice }, timeout: PATIENCE_MS, maxBuffer: 2 ** 26 };
    const said = await new Promise<string>((resolve) =>
      execFile(process.execPath, args, options, (_, stdout) => resolve(stdout)),
    );
    const [, name] = failure.exec(said) ?? [];
    if (name !== undefined) return name;
  }
  return undefined;
}

const asked = process.argv.slice(2);
const rows = Object.entries<Decision>(DECISIONS).filter(([id]) => asked.length === 0 || asked.includes(id));
const unnoticed: string[] = [];
await pool(AT_ONCE, rows.flatMap(switched), async (choice) => {
  const name = await noticedBy(choice);
  if (name === undefined) unnoticed.push(choice);
  console.log(`${choice}: ${name ?? "NOTHING FAILS"}`);
});
console.log(unnoticed.length === 0 ? "Each choice is held." : `Held by nothing: ${unnoticed.join(", ")}.`);
process.exitCode = unnoticed.length === 0 ? 0 : 1;
