// The REST API with everything on, as CPU time per request: against a server that does the least, against another version
// of itself in one run (what a change has cost or gained; BENCH_BEFORE names a folder in which that was built by `npm run
// build`), and with --data, every create on the disk before it is answered, against memory.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Client } from "../../test/support/client.ts";
import { person, register, tokensFor } from "../../test/support/oauth.ts";
import { compare, type Line, ratio } from "./figures.ts";
import { type Case, contest, create, creates, draft, get, load, loadOn, patch, post } from "./load.ts";
import { bare, isBuilt, KEY, newFolder, ours, type Server, startServer, startService } from "./machine.ts";

/** How many are there before a measurement; those are read, listed and changed. */
const STORED = 100;
/** Rounds before the first that counts: what is compared is the steady state, when V8 has compiled what is used. */
const WARM = 5;
/** Of what was before. */
const BEFORE_GOAL = "<= 1.10";

interface Filled {
  readonly server: Server;
  /** The path of the n-th app. */
  readonly nth: (n: number) => string;
  /** The first one's ETag; a server that sends none knows `*`. */
  readonly tag: string;
}

/** The one with the tag goes before those that change apps. */
const CASES: Readonly<Record<string, Case<Filled>>> = {
  "GET not modified: 304": [
    "<= 1.50",
    ({ nth, tag }) => load(() => get(nth(0), KEY, `If-None-Match: ${tag}\r\n\r\n`), 304),
  ],
  "GET one": ["<= 1.20", ({ nth }) => load((n) => get(nth(n)))],
  "List of 20": ["<= 1.00", () => load(() => get("/v1/apps"))],
  "Create one, here with its event": ["<= 1.80", () => creates()],
  "Patch one, here with its event": ["<= 2.00", ({ nth }) => load((n) => patch(nth(n), { title: `Sales ${n}` }))],
  "Create refused: 422": ["<= 1.60", () => load((n) => post("/v1/apps", { ...draft(n), title: "" }), 422)],
};

export async function http(): Promise<Line[]> {
  await using own = await startService();
  await using base = await startServer(bare);
  return [...(await contest([own, base], filled, CASES, WARM)), await withToken(own)];
}

async function filled(server: Server): Promise<Filled> {
  const ids = await create(server.port, STORED);
  const nth = (n: number) => `/v1/apps/${ids[n % STORED]}`;
  return { server, nth, tag: (await server.api.root.get(nth(0))).headers.etag ?? "*" };
}

async function withToken(server: Server): Promise<Line> {
  const api = new Client({ baseUrl: `http://localhost:${server.port}/v1`, key: KEY });
  const { access } = await tokensFor(api, await person(api), await register(api));
  api.close();
  const { nth } = await filled(server);
  const [token, key] = await compare([access, KEY].map((key) => loadOn([server], () => load((n) => get(nth(n), key)))));
  return { ...ratio("GET one with an access token", token, key, "µs of CPU", "<= 1.05"), against: "an API key" };
}

const ON_FILE = "Create with --data, 64 connections";
const many = () => creates({ connections: 64 });
const onFile = (folder: string, name: string, program = ours("bin")) =>
  startService(name, ["--data", join(folder, `${name}.json`)], program);

export async function file(): Promise<Line[]> {
  using folder = newFolder();
  await using own = await onFile(folder.path, "data");
  await using base = await startService("the memory store");
  const [data, memory] = await compare([own, base].map((server) => loadOn([server], many)));
  const throughput = ratio(ON_FILE, data, memory, "a second", ">= 0.60");
  return [ratio(ON_FILE, data, memory, "µs of CPU", "<= 1.45"), throughput];
}

export async function before(): Promise<Line[]> {
  const other = process.env.BENCH_BEFORE;
  if (other === undefined) throw new Error("BENCH_BEFORE must name the folder of the version to compare with");
  const was = [join(other, "dist/bin.js")];
  if (!isBuilt || !existsSync(was[0] ?? "")) throw new Error("Both versions must have been built: npm run build");
  const cases = Object.fromEntries(
    Object.entries(CASES).map(([what, [, make]]) => [what, [BEFORE_GOAL, make] as const]),
  );
  using folder = newFolder();
  await using now = await startService("now");
  await using then = await startService("before", [], was);
  const found = await contest([now, then], filled, cases, WARM);
  await using nowOnFile = await onFile(folder.path, "now");
  await using thenOnFile = await onFile(folder.path, "before", was);
  const onFiles = { [ON_FILE]: [BEFORE_GOAL, many] } as const;
  return [...found, ...(await contest([nowOnFile, thenOnFile], async (server) => ({ server }), onFiles))];
}
