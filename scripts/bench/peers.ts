// The servers compared with: they are installed into temporary folders, in fixed versions; nothing of them ever stands in
// this repository's own dependencies.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Program } from "./machine.ts";

const FRAMEWORKS = { fastify: "5.12.8", express: "5.3.0" };
const EMULATORS = { emulate: "0.12.2", workos: "0.14.0", "json-server": "0.17.4" };
const SERVERS = fileURLToPath(new URL("servers", import.meta.url));

export const bare: Program = { name: "bare node:http", args: [join(SERVERS, "bare.mjs")] };

/** Fastify with schemas, and Express. */
export function installedPeers(): readonly Program[] {
  const folder = installed(FRAMEWORKS);
  return [
    { name: `Fastify ${FRAMEWORKS.fastify} with schemas`, args: [join(folder, "fastify.mjs")] },
    { name: `Express ${FRAMEWORKS.express}`, args: [join(folder, "express.mjs")] },
  ];
}

/** Those that people test against today. */
export function installedEmulators(): Readonly<Record<keyof typeof EMULATORS, Program>> {
  const folder = installed(EMULATORS);
  const program = (name: keyof typeof EMULATORS, title: string): Program => ({
    name: `${title} ${EMULATORS[name]}`,
    args: [join(folder, `${name}.mjs`)],
  });
  return {
    emulate: program("emulate", "emulate (Stripe customers)"),
    workos: program("workos", "workos/emulate (organizations)"),
    "json-server": program("json-server", "json-server"),
  };
}

/** Answers the folder that holds the packages, and beside them all of `servers`. */
function installed(versions: Readonly<Record<string, string>>): string {
  const names = Object.keys(versions);
  const folder = join(tmpdir(), ["bench-peers", ...Object.values(versions)].join("-"));
  if (!names.every((name) => existsSync(join(folder, "node_modules", name)))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: versions }));
    const flags = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional"];
    execFileSync("npm", ["install", ...flags], { cwd: folder, stdio: "inherit" });
  }
  cpSync(SERVERS, folder, { recursive: true });
  return folder;
}
