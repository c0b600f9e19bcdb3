// The source files as text, with what the tests of the house ask of them: their imports, and their code without comments
// and strings, so that a word in a sentence is not taken for a call.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { PARTS } from "../../src/web/docs/tour-content.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface SourceFile {
  /** From the repository's root, with slashes: src/lib/ids.ts. */
  readonly path: string;
  readonly text: string;
  /** Without comments and without what stands inside quotes. */
  readonly code: string;
  /** What it imports, at once or later: a path from the root, or the name of a module. */
  readonly imports: readonly string[];
  /** The same without what is imported as a type only and is gone when it runs. */
  readonly loads: readonly string[];
  /** What is loaded with it, before any of it runs. */
  readonly atOnce: readonly string[];
}

/** Every TypeScript file below `folder`. */
export const sourcesIn = (folder: string): SourceFile[] =>
  filesIn(folder)
    .filter((path) => path.endsWith(".ts"))
    .sort()
    .map(read);

/** Folders of test/clients hold packages, and what these generate while other tests run. */
const NOT_OURS = "test/clients";

const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return folder === NOT_OURS ? [] : filesIn(path);
  });

function read(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), "utf8");
  const found = [...statementsOf(text).matchAll(IMPORT)].map(([, type, fixed, later]) => ({
    type: type !== undefined,
    later: later !== undefined,
    name: fromRoot(path, fixed ?? later ?? ""),
  }));
  const imports = found.map(({ name }) => name);
  const loads = found.filter(({ type }) => !type).map(({ name }) => name);
  const atOnce = found.filter(({ type, later }) => !type && !later).map(({ name }) => name);
  return { path, text, code: codeOf(text), imports, loads, atOnce };
}

/** What is loaded later, with import() or getBuiltinModule(), is imported like anything else. */
const IMPORT =
  /(?:^|\n)(?:import|export)\b( type\b)?(?:[^"';]*?from)? ?"([^"]+)"|\b(?:import|getBuiltinModule)\("([^"]+)"\)/g;

const fromRoot = (path: string, name: string): string =>
  name.startsWith(".") ? posix.join(posix.dirname(path), name) : name;

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//;
const QUOTED = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/;
/** Where an expression begins, a slash begins a regular expression. */
const REGEXP =
  /(?<=(?:[(=,:[!&|?{};+]|\breturn|=>)\s*)\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/;
/** What is no code, or text within it. */
export const TOKEN = new RegExp(
  [COMMENT, QUOTED, REGEXP].map(({ source }) => source).join("|"),
  "g",
);

/** The text with its strings, but without comments and templates, in which an import is only talked about. */
const statementsOf = (text: string): string =>
  text.replace(TOKEN, (found) => (/^["']/.test(found) ? found : " "));

/** Comments, strings and regular expressions become spaces; template literals lose their texts, not their `${}`. */
const codeOf = (text: string): string =>
  text.replace(TOKEN, (found) =>
    found.startsWith("`") ? codeOf(found.match(/\$\{[^}]*\}/g)?.join(" ") ?? "") : " ",
  );

/** One id for each statement that an implementation can hold or break. */
export const CLAUSES: ReadonlySet<string> = new Set(
  Object.values(PARTS).flatMap(({ says }) =>
    Object.keys(says).flatMap((clauses) => clauses.split(" ")),
  ),
);
