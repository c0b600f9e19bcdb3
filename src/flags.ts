// Parses the flags of a command. A wrong flag throws an OptionError that suggests the nearest known name.
import { type ParseArgsConfig, parseArgs } from "node:util";
import { OptionError, suggest } from "./lib/schema.ts";

export type FlagTypes = NonNullable<ParseArgsConfig["options"]>;
export type Flags = Readonly<Record<string, unknown>>;

/** Returns the values by long flag name; `--help` and `-h` are always known. */
export function parseFlags(args: readonly string[], flagTypes: FlagTypes): Flags {
  const options: FlagTypes = { help: { type: "boolean", short: "h" }, ...flagTypes };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values;
  } catch (error) {
    // The first sentence; the rest explains Node's API.
    const [message = ""] = error instanceof Error ? error.message.split(". ") : [];
    const [, unknown] = /^Unknown option '([^']*)'/.exec(message) ?? [];
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new OptionError(unknown === undefined ? message : message + suggest(unknown, names));
  }
}
