// Starts a PostgreSQL server for tests and trials, in a temporary folder, reached by a socket there. PostgreSQL refuses
// to run as root, so root starts it as a user who owns nothing.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PLACES = "/usr/lib/postgresql";
const VERSIONS = existsSync(PLACES)
  ? readdirSync(PLACES).sort((a, b) => Number(b) - Number(a))
  : [];
const FOUND = VERSIONS.map((version) => join(PLACES, version, "bin")).find((bin) =>
  existsSync(join(bin, "initdb")),
);
/** An unprivileged user id; any works. */
const WHO = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

export type Database = ReturnType<typeof startDatabase>;

/** The reason if PostgreSQL is not installed. */
export const missing = FOUND === undefined && `no PostgreSQL was found (looked in ${PLACES})`;

function run(program: string, args: readonly string[], input = ""): string {
  assert.ok(FOUND !== undefined, `${missing}: apt-get install postgresql`);
  const stdio = ["pipe", "pipe", "pipe"] as const;
  return execFileSync(join(FOUND, program), args, {
    ...WHO,
    cwd: "/",
    input,
    stdio: [...stdio],
    encoding: "utf8",
  });
}

/** `durable`: commits wait for the disk, which no test needs. `folder` holds the socket, its `data` the database. */
export function startDatabase(durable = false) {
  const folder = mkdtempSync(join(tmpdir(), "apphost-pg-"));
  chmodSync(folder, 0o700);
  if (WHO.uid !== undefined) chownSync(folder, WHO.uid, WHO.gid);
  const data = join(folder, "data");
  run("initdb", [
    "-D",
    data,
    "-U",
    "owner",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--no-locale",
    "--no-sync",
  ]);
  const settings = `-c listen_addresses= -k ${folder} -c fsync=${durable} -c max_connections=200`;
  const start = () =>
    void run("pg_ctl", ["-D", data, "-o", settings, "-l", join(folder, "log"), "-w", "start"]);
  const stop = () => void run("pg_ctl", ["-D", data, "-m", "fast", "-w", "stop"]);
  /** Runs statements as the database's owner. */
  const sql = (...statements: readonly string[]) =>
    run("psql", ["-h", folder, "-U", "owner", "-d", "postgres", "-qAt"], statements.join(";\n"));
  start();
  /** Stops the server and removes all its files. */
  const end = () => {
    if (existsSync(join(data, "postmaster.pid"))) stop();
    rmSync(folder, { recursive: true });
  };
  let made = 0;
  /** The URL of a new, empty schema. */
  const address = () => {
    made += 1;
    sql(`CREATE SCHEMA s${made}`);
    return `postgres:///postgres?user=owner&host=${folder}&options=-csearch_path%3Ds${made}`;
  };
  return { folder, address, sql, stop, start, [Symbol.dispose]: end };
}
