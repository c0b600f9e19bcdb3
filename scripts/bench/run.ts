// npm run bench [-- part …]: measures this server against what people would use instead and prints a Markdown table.
// Not a test: figures depend on the machine, which the table names.
import { before } from "./before.ts";
import { emulators } from "./emulators.ts";
import { file } from "./file.ts";
import { growth } from "./growth.ts";
import { http } from "./http.ts";
import { describeMachine, pinLoad } from "./machine.ts";
import { memory } from "./memory.ts";
import { start } from "./start.ts";
import { type Line, markdown } from "./table.ts";

const parts: Readonly<Record<string, () => Promise<Line[]>>> = { http, emulators, growth, start, memory, file };

/** Only when asked for. */
const special: typeof parts = { before };

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => parts[name] === undefined && special[name] === undefined);
if (unknown.length > 0) {
  process.stderr.write(
    `There is no part ${unknown.join(", ")}; the parts are ${Object.keys({ ...parts, ...special }).join(", ")}.\n`,
  );
  process.exit(2);
}

pinLoad();
const lines: Line[] = [];
const wanted = asked.length > 0 ? Object.entries({ ...parts, ...special }) : Object.entries(parts);
for (const [name, part] of wanted) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  process.stderr.write(`${name} …\n`);
  const found = await part();
  process.stderr.write(`${markdown(found)}\n`);
  lines.push(...found);
}
const command = ["npm run bench", ...(asked.length > 0 ? ["--", ...asked] : [])].join(" ");
const date = new Date().toISOString().slice(0, 10);
process.stdout.write(`${markdown(lines)}\n\n\`${command}\` on ${describeMachine()}, ${date}.\n`);
