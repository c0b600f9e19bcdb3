// `npm run bench [-- part… --readme]`: builds the package and measures it beside other servers, as ratios in one run.
// Exits with 1 if a goal is missed. Figures depend on the machine, so this is not a test. BENCH_SCALE=0.01
// BENCH_ROUNDS=1 tries everything out, with meaningless figures.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { flagOption, parseOptions } from "../arguments.ts";
import { BASE, file, http, OTHERS } from "./http.ts";
import { NAMES, type Row } from "./measure.ts";
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
const head = ["Ratio (min–max)", ...NAMES, "to"];
console.log(`${line(head)}\n${line(head.map(() => "---"))}`);
const rows: Row[] = [];
for (const [name, part] of Object.entries(PARTS)) {
  if (!names.includes(name)) continue;
  for await (const row of part()) {
    rows.push(row);
    console.log(line([row.what, ...row.cells, row.note]));
  }
}
const machine = `${cpus().length} cores (${cpus()[0]?.model}), Node ${process.versions.node}`;
console.log(`\n${machine}.`);

if (readme) {
  const figures = rows.map(({ what, base, cells: [own, ...others] }) => {
    const compared = others.flatMap((cell, n) => (cell ? [`${NAMES[n + 1]} ${cell}`] : []));
    return `${[`${what} ${own}`, ...compared].join(", ")}${base === BASE.name ? "" : ` of ${base}`}`;
  });
  const text = `\`npm run bench\`: processor time of a request, or time, as a ratio to ${BASE.name} (lowest and highest of the rounds). ${figures.join("; ")}. ${machine}.`;
  const place = /(?<=<!-- npm run bench -- --readme -->\n)[\s\S]*(?=<!-- end -->)/;
  writeFileSync(
    "README.md",
    readFileSync("README.md", "utf8").replace(place, () => `${text}\n`),
  );
}
