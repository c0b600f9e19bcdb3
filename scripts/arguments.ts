// Command-line parsing for the scripts: node:util's parseArgs, with checks of values and a help. Wrong usage prints the
// correct form on stderr, on one line, and exits with 2.
import { parseArgs } from "node:util";

// The reader of the output may close the pipe early, as `| head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

export function exitWithUsage(message: string, usage: string): never {
  process.stderr.write(`${message} ${usage}\n`);
  return process.exit(2);
}

/** A description of valid values, and their pattern. */
type Form = readonly [is: string, pattern: RegExp];
/** Requires the scheme, because `localhost:4600/v1` alone also parses as a URL. */
export const HTTP_URL: Form = ["a URL, which begins with http:// or https://", /^https?:\/\/./];
export const COUNT: Form = ["a number from 1", /^[1-9]\d*$/];

interface Option {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  /** The placeholder of the value and the help; an option without help appears only in the first line. */
  readonly says: readonly [value: string, help: string];
  readonly form?: Form | undefined;
}

export const textOption = (value = "", help = "", form?: Form) =>
  ({ type: "string", says: [value, help], form }) as const;
export const flagOption = (help = "") => ({ type: "boolean", says: ["", help] }) as const;

/**
 * Returns the option values, a function that reports wrong usage, and the words that are no options: some of `words`,
 * or all of them if none is given. --help prints the help and exits.
 */
export function parseOptions<O extends Readonly<Record<string, Option>>>(
  use: string,
  options: O,
  words: readonly string[] = [],
) {
  const lines = Object.entries(options)
    .filter(([, { says }]) => says[1] !== "")
    .map(([name, { says }]) => `  ${`--${name} ${says[0]}`.padEnd(30)} ${says[1]}`);
  const usage = `Usage: npm run ${use}`;
  const fail = (message: string) => exitWithUsage(message, `${usage} (see --help)`);
  if (process.argv.includes("--help")) {
    console.log([usage, ...lines].join("\n"));
    process.exit();
  }
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: words.length > 0 });
    for (const [name, value] of Object.entries<unknown>(values)) {
      const [is, pattern] = options[name]?.form ?? ["", /^/];
      if (![value].flat().every((one) => pattern.test(String(one))))
        return fail(`--${name} must be ${is}.`);
    }
    const unknown = positionals.filter((word) => !words.includes(word)).join(", ");
    if (unknown !== "")
      exitWithUsage(`There is no ${unknown}.`, `Choose from: ${words.join(", ")}`);
    return [values, fail, positionals.length > 0 ? positionals : words] as const;
  } catch (error) {
    // Keeps only the first sentence; the advice after it is about dashes.
    return fail(`${(error as Error).message.replace(/\.?(\n.*)?$/s, "")}.`);
  }
}
