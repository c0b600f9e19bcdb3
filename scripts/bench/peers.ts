// The servers compared with. Fastify and Express are installed into a temporary folder, in fixed versions; nothing of
// them ever stands in this repository's own dependencies.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Program } from "./machine.ts";

const VERSIONS = { fastify: "5.12.8", express: "5.3.0" };
const SERVERS = fileURLToPath(new URL("servers", import.meta.url));

export const bare: Program = { name: "bare node:http", args: [join(SERVERS, "bare.mjs")] };

/** Fastify with schemas, and Express. */
export function installedPeers(): readonly Program[] {
  const folder = join(tmpdir(), `bench-peers-${VERSIONS.fastify}-${VERSIONS.express}`);
  if (!existsSync(join(folder, "node_modules", "express"))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: VERSIONS }));
    execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund"], { cwd: folder, stdio: "inherit" });
  }
  cpSync(SERVERS, folder, { recursive: true });
  return [
    { name: `Fastify ${VERSIONS.fastify} with schemas`, args: [join(folder, "fastify.mjs")] },
    { name: `Express ${VERSIONS.express}`, args: [join(folder, "express.mjs")] },
  ];
}
