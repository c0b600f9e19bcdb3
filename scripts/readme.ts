// Writes the README's table of decisions between its two marks, from the register; with --check it only says whether the
// table is what the register says.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type Decision, decisions } from "../src/kit/decisions.ts";

const START = "<!-- decisions: made by npm run readme -->";
const END = "<!-- end of decisions -->";

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
const CHOICE_MAX = 90;

function choiceText(choice: unknown): string {
  const text = typeof choice === "string" ? choice : JSON.stringify(choice);
  return text.length > CHOICE_MAX ? `${text.slice(0, CHOICE_MAX)}…` : text;
}

/** The file that declares each decision, and so runs on it. */
const declaredIn = new Map(
  readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => {
      const declarations = readFileSync(`src/${name}`, "utf8").matchAll(/\b(?:decide|chosen)\(\s*"([^"]+)"/g);
      return [...declarations].map(([, id]) => [id ?? "", `src/${name.replaceAll("\\", "/")}`] as const);
    }),
);

for (const path of new Set(declaredIn.values())) await import(`../${path}`);

function row({ id, open, choice, why }: Decision): string {
  const path = declaredIn.get(id);
  if (path === undefined) throw new Error(`No file below src declares ${id}`);
  return `| ${id} | ${cell(open)} | \`${cell(choiceText(choice))}\` | ${cell(why)} | [${path.slice("src/".length)}](${path}) |`;
}

const table = [
  "| Id | What the specification leaves open | Choice | Why | Where |",
  "| --- | --- | --- | --- | --- |",
  ...decisions().map(row),
].join("\n");

const readme = readFileSync("README.md", "utf8");
const [before, rest] = readme.split(START);
const [, after] = (rest ?? "").split(END);
if (before === undefined || after === undefined) throw new Error(`README.md lacks the marks ${START} and ${END}`);
const fresh = `${before}${START}\n${table}\n${END}${after}`;
if (!process.argv.includes("--check")) writeFileSync("README.md", fresh);
else if (fresh !== readme) {
  process.stderr.write("The README's table of decisions is not fresh; run: npm run readme\n");
  process.exitCode = 1;
}
