// How long the API takes to answer while FILE is written anew, against while it is not: the whole service on --data, with
// a fixed number of requests a second, each timed from the moment it is due. The service starts on a FILE of many records
// and a journal that is nearly as large, so that a few large creates bring the folding about.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spread } from "./compare.ts";
import { draft } from "./load.ts";
import { KEY, pause, pinLoad, startService } from "./machine.ts";
import type { Line } from "./table.ts";

const RECORDS = Number(process.env.BENCH_RECORDS ?? 300_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const PER_SECOND = 500;
const WARM_MS = 3_000;
const QUIET_MS = 3_000;
const SIDE = fileURLToPath(new URL("store-side.ts", import.meta.url));

type What = "create" | "GET";
type Times = Readonly<Record<What, number[]>>;
type Round = Readonly<Record<"folding" | "quiet", Times>>;

export async function folding(): Promise<Line[]> {
  pinLoad();
  // Beside the sources and not in the temporary folder, which is often no disk at all.
  const folder = mkdtempSync(join(process.cwd(), "bench-data-"));
  try {
    const made = join(folder, "made");
    execFileSync(process.execPath, ["--import", "tsx", SIDE, "nearly", `${RECORDS}`, made, KEY]);
    const rounds: Round[] = [];
    for (let n = 0; n < ROUNDS; n += 1) rounds.push(await round(made, join(folder, `${n}`)));
    return [lineOf("create", rounds), lineOf("GET", rounds)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function lineOf(what: What, rounds: readonly Round[]): Line {
  const p99s = rounds.map(({ folding, quiet }) => ({ folding: p99(folding[what]), quiet: p99(quiet[what]) }));
  const each = p99s.map(({ folding, quiet }) => `${folding.toFixed(2)} against ${quiet.toFixed(2)}`).join(", ");
  const least = Math.min(...rounds.map(({ folding }) => folding[what].length));
  return {
    what: `API while FILE is written anew, ${RECORDS.toLocaleString("en")} apps: ${what}`,
    against: "the same while it is not",
    figure: "p99",
    spread: spread(p99s.map(({ folding, quiet }) => folding / quiet)),
    goal: "<= 2",
    beside: `${each} ms; ${least} requests a folding or more`,
  };
}

const p99 = (times: readonly number[]): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;

const noTimes = (): Times => ({ create: [], GET: [] });

async function round(from: string, folder: string): Promise<Round> {
  cpSync(from, folder, { recursive: true });
  // Else the disk is still busy with the copy while the service is measured.
  execFileSync("sync");
  const file = join(folder, "data.json");
  const isFolding = () => existsSync(`${file}.new`) || existsSync(`${file}.journal.new`);
  const server = await startService(["--data", file]);
  const api = new Api(server.port);
  try {
    await api.create("");
    await api.visit(noTimes(), after(WARM_MS));
    const quiet = noTimes();
    await api.visit(quiet, after(QUIET_MS));
    while (!isFolding()) await api.create("x".repeat(5_000));
    const folding = noTimes();
    await api.visit(folding, () => !isFolding());
    await api.visit(quiet, after(QUIET_MS));
    return { folding, quiet };
  } finally {
    api.close();
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

function after(ms: number): () => boolean {
  const end = performance.now() + ms;
  return () => performance.now() >= end;
}

class Api {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true });
  #created = "";

  constructor(port: number) {
    this.#port = port;
  }

  /** Creates and reads in turn, one at each moment that one is due, whether or not those before are answered. */
  async visit(times: Times, isOver: () => boolean): Promise<void> {
    const start = performance.now();
    const answers: Promise<void>[] = [];
    for (let n = 0; !isOver(); n += 1) {
      const due = start + (n * 1000) / PER_SECOND;
      while (performance.now() < due) await pause(1);
      const what = n % 2 === 0 ? "create" : "GET";
      const answer = what === "create" ? this.create(draft(n).description) : this.#get();
      answers.push(answer.then(() => void times[what].push(performance.now() - due)));
    }
    await Promise.all(answers);
  }

  async create(description: string): Promise<void> {
    const { id }: { id: string } = JSON.parse(await this.#ask("POST", "/v1/apps", { ...draft(0), description }));
    this.#created = id;
  }

  async #get(): Promise<void> {
    await this.#ask("GET", `/v1/apps/${this.#created}`);
  }

  #ask(method: string, path: string, body?: object): Promise<string> {
    const headers = { Authorization: `Bearer ${KEY}`, ...(body && { "Content-Type": "application/json" }) };
    return new Promise((resolve, reject) => {
      const asked = request({ port: this.#port, method, path, headers, agent: this.#agent }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        const isRight = answer.statusCode === (body ? 201 : 200);
        answer.on("end", () => (isRight ? resolve(text) : reject(new Error(text))));
      });
      asked.on("error", reject).end(body && JSON.stringify(body));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
