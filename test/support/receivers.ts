// Receivers for tests: one that behaves as the specification says, with its webhook, and one that responds by
// a function and records its requests.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { ReceiverAnswer } from "../../src/options.ts";
import { startReceiver } from "../../src/receiver.ts";
import type { Client } from "./client.ts";
import { closeLater } from "./closing.ts";
import { listen } from "./ports.ts";

export const SECRET = "geheim-ü-🔑";

/** Creates a receiver and its webhook; the receiver rejects deliveries not signed with the webhook's secret. */
export async function hooked(
  api: Client,
  events: readonly string[],
  fields: object = {},
  answers: readonly ReceiverAnswer[] = [200],
) {
  const webhook = { events, secret: SECRET, active: true, ...fields };
  const receiver = await startReceiver({ ...webhook, answers });
  closeLater(() => receiver.close());
  return { ...receiver, webhook: await api.create("/webhooks", { ...webhook, url: receiver.url }) };
}

/** `answer` returns a status without a body; with undefined it sends the response itself, or never responds. */
export async function httpReceiver(
  answer: (count: number, response: ServerResponse) => number | undefined = () => 200,
) {
  const got: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer(async (request, response) => {
    got.push({ headers: request.headers, body: await text(request) });
    const status = answer(got.length, response);
    if (status !== undefined) response.writeHead(status).end();
  });
  const port = await listen(server);
  closeLater(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${port}/hook`, got };
}
