// Starts a PostgreSQL server for tests in a temporary folder, reached by a socket there. PostgreSQL refuses to run as
// root, so root starts it as another user.
import { execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = "/usr/lib/postgresql";
const versions = existsSync(ROOT) ? readdirSync(ROOT).sort((a, b) => Number(b) - Number(a)) : [];
const bin = versions
  .map((version) => join(ROOT, version, "bin"))
  .find((folder) => existsSync(join(folder, "initdb")));

/** The reason to skip tests that need PostgreSQL; with TEST_REQUIRE_POSTGRES=1 they fail instead. */
export const skip =
  bin === undefined &&
  process.env.TEST_REQUIRE_POSTGRES !== "1" &&
  `PostgreSQL is not installed in ${ROOT}`;

const NOBODY = 65_534;
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

function run(program: string, ...args: string[]) {
  if (bin === undefined) throw new Error(`PostgreSQL is not installed in ${ROOT}; install it.`);
  execFileSync(join(bin, program), args, {
    ...user,
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe"],
  });
}

/** Starts a server. `createAddress` returns the URL of a new, empty schema; `stop` removes all files. */
export function startDatabase() {
  const folder = mkdtempSync(join(tmpdir(), "apphost-pg-"));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  run("initdb", "-D", data, "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync");
  const settings = `-c listen_addresses= -k ${folder} -c fsync=off`;
  run("pg_ctl", "-D", data, "-o", settings, "-l", join(folder, "log"), "-w", "start");
  let schemas = 0;
  const createAddress = () => {
    schemas += 1;
    const schema = `s${schemas}`;
    run("psql", "-h", folder, "-U", "owner", "-d", "postgres", "-qc", `CREATE SCHEMA ${schema}`);
    return `postgres:///postgres?user=owner&host=${folder}&options=-csearch_path%3D${schema}`;
  };
  const stop = () => {
    run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop");
    rmSync(folder, { recursive: true });
  };
  return { createAddress, stop };
}
