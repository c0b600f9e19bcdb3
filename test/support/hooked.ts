// A webhook of our own server that leads to a receiver of the test's own.
import { type Receiver, type ReceiverAnswer, startReceiver } from "../../src/receiver.ts";
import type { Client, Members } from "./client.ts";
import { closeLater } from "./closing.ts";

export const SECRET = "geheim-ü-🔑";

/** A receiver, and the answer to a webhook that leads there; what is not signed with its secret is refused there. */
export async function hooked(
  api: Client,
  events: readonly string[],
  fields: object = {},
  answers: readonly ReceiverAnswer[] = [200],
): Promise<Receiver & { readonly webhook: Members }> {
  const webhook = { events, secret: SECRET, active: true, ...fields };
  const receiver = await startReceiver({ ...webhook, answers });
  closeLater(() => receiver.close());
  return { ...receiver, webhook: await api.create("/webhooks", { ...webhook, url: receiver.url }) };
}
