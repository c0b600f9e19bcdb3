// Waits for background results: polls until there is one. It neither sleeps nor hangs.
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { type Client, type Members, members, PATIENCE_MS } from "./client.ts";

/** Waits for so many turns of the event loop. */
export async function turns(count: number) {
  for (let passed = 0; passed < count; passed += 1) await turn();
}

/** Returns the result of `look` as soon as it is defined, or true. */
export async function eventually<T>(look: () => Promise<T | undefined | false | "">) {
  for (const began = performance.now(); performance.now() - began < PATIENCE_MS; ) {
    const found = await look();
    if (found) return found;
    await turn();
  }
  throw new Error(`nothing came within ${PATIENCE_MS} ms`);
}

/** The data source once it is processed. */
export const processed = (api: Client, id: string) =>
  eventually(async () => {
    const { json } = await api.get(`/data-sources/${id}`);
    return json.status !== "processing" && json;
  });

/** A new data source, once it is processed. */
export async function uploaded(api: Client, draft: object): Promise<Members & { id: string }> {
  const { id } = await api.create("/data-sources", draft);
  return { ...(await processed(api, id)), id };
}

/** The delivery log of a webhook. */
export const logOf = async (api: Client, webhook: Members, query = "") =>
  (await api.get(`/webhooks/${webhook.id}/deliveries${query}`)).items;

export const attemptsOf = (delivery: Members | undefined) => {
  assert.ok(Array.isArray(delivery?.attempts));
  return delivery.attempts.map(members);
};

/** The webhook's first delivery that matches. */
export const delivery = (api: Client, webhook: Members, is: (each: Members) => boolean) =>
  eventually(async () => (await logOf(api, webhook)).find(is));
export const settled = (api: Client, webhook: Members) =>
  delivery(api, webhook, ({ status }) => status !== "pending");
export const attempted = (api: Client, webhook: Members) =>
  delivery(api, webhook, (each) => attemptsOf(each).length > 0);

/** A promise with its resolve function. */
export function promised<T = void>() {
  let keep: (value: T) => void = () => {};
  const kept = new Promise<T>((resolve) => {
    keep = resolve;
  });
  return { kept, keep };
}

/** Measures the duration of work, in milliseconds. */
export async function took(work: () => Promise<unknown>) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
