// The servers compared with. BENCH_PEERS=0 does without those that are to be installed.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installed } from "../installed.ts";
import type { Program } from "./machine.ts";

const SERVERS = fileURLToPath(new URL("servers", import.meta.url));

export const bare: Program = { name: "bare node:http", args: [join(SERVERS, "bare.mjs")] };

/** Node finds the packages from beside them only. */
function peers(versions: Readonly<Record<string, string>>, titles: Readonly<Record<string, string>>): Program[] {
  if (process.env.BENCH_PEERS === "0") return [];
  const folder = installed(versions, "--ignore-scripts", "--omit=optional");
  cpSync(SERVERS, folder, { recursive: true });
  return Object.entries(versions).map(([name, version]) => ({
    name: `${titles[name]} ${version}`,
    args: [join(folder, `${name}.mjs`)],
  }));
}

export const frameworks = () =>
  peers({ fastify: "5.12.8", express: "5.3.0" }, { fastify: "Fastify with schemas", express: "Express" });

/** Those that people test against today. */
export const emulators = () =>
  peers(
    { emulate: "0.12.2", workos: "0.14.0", "json-server": "0.17.4" },
    {
      emulate: "emulate (Stripe customers)",
      workos: "workos/emulate (organizations)",
      "json-server": "json-server",
    },
  );
