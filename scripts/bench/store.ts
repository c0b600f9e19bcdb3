// npm run bench:store: the stores against better-sqlite3 (WAL, synchronous=FULL) and against JSON.parse, in turn, each
// measurement in a fresh process, and prints a Markdown table. Not a test: figures depend on the machine.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median, type Spread, spread } from "./compare.ts";
import { folding } from "./folding.ts";
import { describeMachine } from "./machine.ts";
import { type Line, markdown } from "./table.ts";

const SQLITE = "12.4.1";
const ROUNDS = 5;
const SIDE = fileURLToPath(new URL("store-side.ts", import.meta.url));
const NODE_FLAGS = ["--max-old-space-size=8192", "--expose-gc"];

const peer = join(tmpdir(), `bench-peers-better-sqlite3-${SQLITE}`);

function installPeer(): void {
  if (existsSync(join(peer, "node_modules", "better-sqlite3", "build"))) return;
  mkdirSync(peer, { recursive: true });
  writeFileSync(join(peer, "package.json"), JSON.stringify({ dependencies: { "better-sqlite3": SQLITE } }));
  execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund"], { cwd: peer, stdio: "inherit" });
}

/** The answer of one side, measured in a folder of its own. */
function side<T>(...args: string[]): T {
  const folder = mkdtempSync(join(tmpdir(), "bench-store-"));
  try {
    const env = { ...process.env, BENCH_SQLITE: join(peer, "node_modules/better-sqlite3/lib/index.js") };
    const command = [...NODE_FLAGS, "--import", "tsx", SIDE, ...args.map((arg) => (arg === "FOLDER" ? folder : arg))];
    return JSON.parse(execFileSync(process.execPath, command, { env, encoding: "utf8" }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Both sides in turn, round after round: the ratios of own to base, and the median figures. */
function compare(own: string[], base: string[]): { ratio: Spread; own: number; base: number } {
  const rounds = Array.from({ length: ROUNDS }, () => ({ base: side<number>(...base), own: side<number>(...own) }));
  const of = (name: "own" | "base") => median(rounds.map((round) => round[name]));
  return { ratio: spread(rounds.map((round) => round.own / round.base)), own: of("own"), base: of("base") };
}

const whole = (value: number) => Math.round(value).toLocaleString("en");

function writes(): Line[] {
  const goals = new Map([
    [1, ">= 0.6"],
    [16, ">= 4"],
    [128, ">= 8"],
  ]);
  return [...goals].map(([writers, goal]) => {
    const { ratio, own, base } = compare(["write", "own", `${writers}`, "FOLDER"], ["write", "sqlite", "1", "FOLDER"]);
    const beside = `${whole(own)} against ${whole(base)} a second`;
    const against = `better-sqlite3 ${SQLITE}, WAL, FULL`;
    return {
      what: `Create with fsync, ${writers} at once`,
      against,
      figure: "writes per second",
      spread: ratio,
      goal,
      beside,
    };
  });
}

function growth(): Line[] {
  return ["memory", "file"].map((kind) => {
    const { ratio, own, base } = compare(["grow", kind, "1000000", "FOLDER"], ["grow", kind, "1000", "FOLDER"]);
    const beside = `${own.toFixed(1)} µs against ${base.toFixed(1)} µs`;
    const what = `Create with 1,000,000 records there, ${kind}`;
    return { what, against: "the same with 1,000", figure: "CPU per create", spread: ratio, goal: "<= 1.25", beside };
  });
}

function loads(): Line[] {
  return [100_000, 1_000_000].map((records) => {
    const file = join(mkdtempSync(join(tmpdir(), "bench-store-")), "data.json");
    side("make", `${records}`, file);
    const { ratio, own, base } = compare(["load", file], ["parse", file]);
    rmSync(file);
    const beside = `${whole(own)} ms against ${whole(base)} ms`;
    const against = "JSON.parse of the file, read as text";
    return {
      what: `Open with ${whole(records)} records`,
      against,
      figure: "time",
      spread: ratio,
      goal: "<= 1.3",
      beside,
    };
  });
}

const parts = { writes, loads, growth, folding };
installPeer();
const asked = process.argv.slice(2);
const lines: Line[] = [];
for (const [name, part] of Object.entries(parts))
  if (asked.length === 0 || asked.includes(name)) lines.push(...(await part()));
process.stdout.write(`${markdown(lines)}\n\n\`npm run bench:store\` on ${describeMachine()}.\n`);
