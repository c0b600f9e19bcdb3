// Parses the flags of a command. A wrong flag throws a one-line OptionError that suggests the nearest known name.
import { type ParseArgsConfig, parseArgs } from "node:util";
import { OptionError, suggest } from "./lib/schema.ts";

export type Flags = Readonly<Record<string, unknown>>;

/** Returns the values by long flag name; `--help` and `-h` are always known. */
export function parseFlags(
  args: readonly string[],
  known: NonNullable<ParseArgsConfig["options"]>,
): Flags {
  const options: ParseArgsConfig["options"] = { help: { type: "boolean", short: "h" }, ...known };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values;
  } catch (error) {
    const [message = ""] = error instanceof Error ? error.message.split(". ") : [];
    const [, unknown = ""] = /^Unknown option '([^']*)'/.exec(message) ?? [];
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new OptionError(message + (unknown && suggest(unknown, names)));
  }
}
