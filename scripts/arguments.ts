// Command-line parsing for the scripts. One table of options defines the parsing, the checks and the help. Wrong usage
// prints the correct form on stderr, on one line if possible, and exits with 2.
import { parseArgs } from "node:util";

// The reader of the output may close the pipe early, as `| head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

export function exitWithUsage(message: string, usage: string): never {
  process.stderr.write(`${message}${usage.includes("\n") ? "\n" : " "}${usage}\n`);
  return process.exit(2);
}

/** A description of valid values, and the check for them. */
type Form = readonly [is: string, test: (value: string) => boolean];
const ANYTHING: Form = ["", () => true];
/** Requires the scheme, because `localhost:4600/v1` alone also parses as a URL. */
export const HTTP_URL: Form = [
  "a URL, which begins with http:// or https://",
  (value) => /^https?:\/\//.test(value) && URL.canParse(value),
];
export const COUNT: Form = ["a number from 1", (value) => /^[1-9]\d*$/.test(value)];
export const PORT: Form = ["a port", (value) => /^\d{1,5}$/.test(value) && Number(value) < 65_536];

interface Option {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  /** Help lines shown after the option's name; an option without any appears in the first line of the help. */
  readonly says: readonly string[];
  readonly form: Form;
}

/** Factories for the kinds of options; `value` is the placeholder for the argument in the help. */
export const textOption = (value = "", says = "", form = ANYTHING) =>
  ({ type: "string", says: [value, says], form }) as const;
export const flagOption = (says = "") =>
  ({ type: "boolean", says: ["", says], form: ANYTHING }) as const;

/**
 * Returns the option values and a function that reports wrong usage. An unknown option is wrong usage.
 * --help prints the help and exits.
 */
export function parseOptions<O extends Readonly<Record<string, Option>>>(use: string, options: O) {
  const lines = Object.entries(options).map(([name, { says }]) => [
    `--${name} ${says[0]}`.padEnd(30),
    says[1],
  ]);
  const reported = lines.flatMap(([option, says]) => (says === "" ? [] : [`  ${option} ${says}`]));
  const help = [`Usage: npm run ${use}`, ...reported].join("\n");
  const fail = (message: string) => exitWithUsage(message, help);
  if (process.argv.includes("--help")) {
    console.log(help);
    process.exit();
  }
  try {
    const { values } = parseArgs({ options });
    for (const [name, value] of Object.entries<unknown>(values)) {
      const [is = "", test] = options[name]?.form ?? ANYTHING;
      if (![value].flat().every((one) => test(String(one))))
        return fail(`--${name} must be ${is}.`);
    }
    return [values, fail] as const;
  } catch (error) {
    // Keeps only the first sentence; the advice after it is about dashes.
    return fail(`${(error as Error).message.replace(/\.?(\n.*)?$/s, "")}.`);
  }
}

/** The parts with the given names; all parts if none is named. */
export function selectParts<T>(
  what: string,
  parts: Readonly<Record<string, T>>,
  names: readonly string[],
): readonly T[] {
  const known = Object.keys(parts);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    exitWithUsage(`There is no ${what} ${unknown.join(", ")}.`, `Choose from: ${known.join(", ")}`);
  return known
    .filter((name) => names.length === 0 || names.includes(name))
    .flatMap((name) => parts[name] ?? []);
}
