// The source files as text for the architecture tests: their imports, and their code without comments and strings, so
// that a word in a sentence is not taken for a call.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { PARTS } from "../../src/web/docs/tour-content.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface SourceFile {
  /** The path from the repository's root, with slashes: src/lib/ids.ts. */
  path: string;
  text: string;
  /** The code without comments and without the contents of quotes. */
  code: string;
  /** All imports, static or dynamic: a path from the root, or the name of a module. */
  imports: readonly string[];
  /** The same without type-only imports, which do not exist at run time. */
  loads: readonly string[];
  /** Static imports, loaded before any of the file runs. */
  atOnce: readonly string[];
}

/** Every TypeScript file below `folder`. */
export const sourcesIn = (folder: string): SourceFile[] =>
  filesIn(folder)
    .filter((path) => path.endsWith(".ts"))
    .sort()
    .map(read);

/** Folders of test/clients contain packages, and their output while other tests run. */
const NOT_OURS = "test/clients";

const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return folder === NOT_OURS ? [] : filesIn(path);
  });

function read(path: string) {
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

/** Dynamic imports, by import() or getBuiltinModule(), count like any other. */
const IMPORT =
  /(?:^|\n)(?:import|export)\b( type\b)?(?:[^"';]*?from)? ?"([^"]+)"|\b(?:import|getBuiltinModule)\("([^"]+)"\)/g;

const fromRoot = (path: string, name: string) =>
  name.startsWith(".") ? posix.join(posix.dirname(path), name) : name;

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//;
const QUOTED = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/;
/** A slash at the start of an expression begins a regular expression. */
const REGEXP =
  /(?<=(?:[(=,:[!&|?{};+]|\breturn|=>)\s*)\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/;
/** Comments, strings and regular expressions. */
export const TOKEN = new RegExp(
  [COMMENT, QUOTED, REGEXP].map(({ source }) => source).join("|"),
  "g",
);

/** The text with its strings, but without comments and templates, which may only mention an import. */
const statementsOf = (text: string): string =>
  text.replace(TOKEN, (found) => (/^["']/.test(found) ? found : " "));

/** Replaces comments, strings and regular expressions by spaces; template literals lose their text, not their `${}`. */
const codeOf = (text: string): string =>
  text.replace(TOKEN, (found) =>
    found.startsWith("`") ? codeOf(found.match(/\$\{[^}]*\}/g)?.join(" ") ?? "") : " ",
  );

/** One id for each statement that an implementation can satisfy or violate. */
export const CLAUSES: ReadonlySet<string> = new Set(
  Object.values(PARTS).flatMap(({ clauses }) =>
    Object.keys(clauses).flatMap((ids) => ids.split(" ")),
  ),
);
