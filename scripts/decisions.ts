// Checks that the code depends on the register of decisions. Each choice is switched to its alternative, an object one
// member at a time, and a test with the row's id must fail. A choice that no test depends on is a wrong row. `npm test`
// covers the choices themselves. Ids on the command line check those rows only.
import { DECISIONS, type Decision } from "../src/former-decisions.ts";
import { isMembers } from "../test/support/client.ts";
import { started } from "../test/support/process.ts";
import { sourcesIn } from "../test/support/sources.ts";
import { chosen } from "./arguments.ts";
import { pool } from "./pool.ts";

const AT_ONCE = 2;
const PATIENCE_MS = 180_000;
const LOADED = [
  "--import",
  "tsx",
  "--import",
  "./test/support/other-choice.ts",
  "--test-reporter",
  "tap",
];

const files = sourcesIn("test").filter(({ path }) => path.endsWith(".test.ts"));

/** A pattern for an id and its facets in test titles. */
const borne = (id: string): string => `${id.replaceAll(".", "\\.")}(?![\\w-])`;

/** The choices of a row to switch, in the form that other-choice takes. */
function switched([id, { choice }]: [string, Decision]): readonly string[] {
  const [is = {}, or = {}] = [choice.is, choice.or].map((value) => (isMembers(value) ? value : {}));
  const names = Object.keys(or).filter((name) => name in is && or[name] !== is[name]);
  return names.length === 0 ? [id] : names.map((name) => `${id}/${name}`);
}

/** The first test of the row that fails under the alternative. */
async function noticedBy(choice: string): Promise<string | undefined> {
  const id = borne(choice.split("/")[0] ?? "");
  for (const { path } of files.filter(({ text }) => new RegExp(`"${id}`).test(text))) {
    const args = [...LOADED, "--test-name-pattern", `^${id}`, path];
    const { stdout } = await started(args, { OTHER_CHOICE: choice }, PATIENCE_MS).ended;
    const [, name] = new RegExp(`^ *not ok \\d+ - (${id}.*)`, "m").exec(stdout) ?? [];
    if (name !== undefined) return name;
  }
  return undefined;
}

const all = Object.entries<Decision>(DECISIONS).map(
  ([id, row]) => [id, () => switched([id, row])] as const,
);
const choices = chosen("choice", Object.fromEntries(all), process.argv.slice(2)).flatMap(
  (switches) => switches(),
);
const unnoticed: string[] = [];
await pool(AT_ONCE, choices, async (choice) => {
  const name = await noticedBy(choice);
  if (name === undefined) unnoticed.push(choice);
  console.log(`${choice}: ${name ?? "NOTHING FAILS"}`);
});
console.log(
  unnoticed.length === 0 ? "Each choice is held." : `Held by nothing: ${unnoticed.join(", ")}.`,
);
process.exitCode = unnoticed.length === 0 ? 0 : 1;
