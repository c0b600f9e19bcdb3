// This server against the emulators that people test with today, each asked for what is most like ours: one resource, a
// page of 20, a create. Each meets a server of ours that is given the same requests, so that both have stored as much at
// any time; the creates come last, because the others' lists cost more the more is stored.
import { pool } from "../pool.ts";
import { type Line, scaled } from "./figures.ts";
import { apps, COMMON, filled, type Resource } from "./http.ts";
import { contest, draft } from "./load.ts";
import { type Server, startServer, startService, withServers } from "./machine.ts";
import { emulators as installed } from "./peers.ts";

const REQUESTS = scaled(1_500);
/** Two of them limit each key (to 999 requests a minute, to 4,999 an hour) and cannot be told otherwise. */
const KEYS = Array.from({ length: 200 }, (_, n) => `sk_bench_${n}`);
const key = (n: number): string => KEYS[n % KEYS.length] ?? "";

/** The fields of an app, as far as the resource has a place for them. */
const customer = (n: number) => {
  const { title, description, theme, public: shared } = draft(n);
  return { name: title, description, metadata: { theme, public: String(shared) } };
};
const organization = (n: number) => {
  const { name, description, metadata } = customer(n);
  return { name, metadata: { description, ...metadata } };
};

/** In the order of peers.ts. */
const RESOURCES: readonly Resource[] = [
  { path: "/v1/customers", page: "?limit=20", draft: customer, created: 200, key },
  { path: "/organizations", page: "?limit=20", draft: organization, created: 201, key },
  { ...apps, path: "/apps", page: "?_limit=20" },
];

/** Fewer than elsewhere, since some of them look through all that is stored; and no goal. */
const CASES = Object.entries(COMMON).map(([what, [, make]]): [string, (typeof COMMON)[string]] => [
  what,
  ["", async (side) => ({ ...(await make(side)), requests: REQUESTS })],
]);

export async function emulators(): Promise<Line[]> {
  const found = await pool(1, installed().entries(), ([nth, program]) => {
    const theirs = startServer({ ...program, env: { BENCH_KEYS: KEYS.join(" ") } });
    const fill = (server: Server, at: number) => filled(server, at === 0 ? apps : RESOURCES[nth]);
    return withServers([startService(), theirs], (servers) => contest(servers, fill, Object.fromEntries(CASES)));
  });
  return found.flat();
}
