// Waiting for what happens behind an answer: asks again until there is something to answer. It neither sleeps nor hangs.
import { setImmediate as turn } from "node:timers/promises";
import type { Client, Members } from "./client.ts";

/** Only a hang takes as long, even on a busy machine. */
const PATIENCE_MS = 15_000;

/** What `look` answers as soon as it is not undefined. */
export async function eventually<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (const began = performance.now(); performance.now() - began < PATIENCE_MS; ) {
    const found = await look();
    if (found !== undefined) return found;
    await turn();
  }
  throw new Error(`nothing came within ${PATIENCE_MS} ms`);
}

/** The data source once it is processed. */
export const processed = (api: Client, id: string): Promise<Members> =>
  eventually(async () => {
    const { json } = await api.get(`/data-sources/${id}`);
    return json.status === "processing" ? undefined : json;
  });
