// Waiting for what happens behind an answer, over HTTP alone: asks again until there is something to answer. Bounded in
// tries, each one a real request, so that it neither sleeps nor hangs.
import { setImmediate as turn } from "node:timers/promises";
import type { Client, Members } from "./client.ts";

const TRIES = 500;

/** What `look` answers as soon as it is not undefined. */
export async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await turn();
  }
  throw new Error(`nothing came in ${TRIES} tries`);
}

/** The data source once it is processed. */
export const processed = (api: Client, id: string): Promise<Members> =>
  eventually(async () => {
    const { json } = await api.get(`/data-sources/${id}`);
    return json.status === "processing" ? undefined : json;
  });
