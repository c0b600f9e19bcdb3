// What the scripts read on the command line. Wrong use is told on stderr with what is right, on one line where that is one,
// and ends with 2.
import { type ParseArgsConfig, parseArgs } from "node:util";

export function wrongUse(why: string, use: string): never {
  process.stderr.write(`${why}${use.includes("\n") ? "\n" : " "}${use}\n`);
  return process.exit(2);
}

/** The kinds of options. */
export const text = { type: "string" } as const;
export const flag = { type: "boolean" } as const;

/** The values of the options; an unknown one is wrong use. With --help it tells the use and ends. */
export function given<O extends NonNullable<ParseArgsConfig["options"]>>(options: O, use: string) {
  if (process.argv.includes("--help")) {
    console.log(use);
    process.exit();
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    // What is advised behind the first sentence is about dashes.
    return wrongUse(`${String(Object(error).message).replace(/\.?(\n.*)?$/s, "")}.`, use);
  }
}

/** Without its scheme `localhost:4600/v1` would be a URL, too. */
export const isHttpUrl = (value: string): boolean => /^https?:\/\//.test(value) && URL.canParse(value);

/** The parts of those names; all where none is named. */
export function chosen<T>(what: string, parts: Readonly<Record<string, T>>, names: readonly string[]): readonly T[] {
  const known = Object.keys(parts);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) wrongUse(`There is no ${what} ${unknown.join(", ")}.`, `Choose from: ${known.join(", ")}`);
  return Object.entries(parts).flatMap(([name, part]) => (names.length === 0 || names.includes(name) ? [part] : []));
}
