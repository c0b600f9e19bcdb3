// `npm run bench [-- part… --readme]`: builds the package and measures it beside other servers, as ratios in one run.
// Exits with 1 if a goal is missed. Figures depend on the machine, so this is not a test. BENCH_SCALE=0.01
// BENCH_ROUNDS=1 tries everything out, with meaningless figures.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { flagOption, parseOptions } from "../arguments.ts";
import { file, http, OTHERS } from "./http.ts";
import { NAMES } from "./measure.ts";
import { delivery, start } from "./processes.ts";
import { pinLoad } from "./server.ts";

const PARTS = { http, file, delivery, start };
const [{ readme = false }, , names] = parseOptions(
  "bench -- [part…]",
  { readme: flagOption("puts the figures into README.md") },
  Object.keys(PARTS),
);

execFileSync(process.execPath, ["--import", "tsx", "scripts/build.ts"], { stdio: "inherit" });
pinLoad();
if (OTHERS.length < NAMES.length - 1)
  console.log("To compare with other servers: npm ci --prefix scripts/bench/neighbours\n");
const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
const head = ["Ratio (min–max)", "to", ...NAMES];
const printed = [line(head), line(head.map(() => "---"))];
console.log(printed.join("\n"));
for (const [name, part] of Object.entries(PARTS)) {
  if (!names.includes(name)) continue;
  for await (const { what, base, cells, note } of part()) {
    printed.push(line([what, base, ...cells]));
    console.log(`${printed.at(-1)} ${note}`);
  }
}
const machine = `${cpus().length} cores (${cpus()[0]?.model}), Node ${process.versions.node}`;
console.log(`\n${machine}.`);
if (readme) {
  const text = readFileSync("README.md", "utf8");
  const figures = `<!-- npm run bench -- --readme, ${machine} -->\n${printed.join("\n")}\n`;
  writeFileSync(
    "README.md",
    text.replace(/<!-- npm run bench.*?-->\n(\|.*\n)*/, () => figures),
  );
}
