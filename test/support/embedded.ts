// For tests of the embedding handle: a service and a client for it, both closed with the test.
import {
  type Receiver,
  type ReceiverAnswer,
  type Service,
  type ServiceOptions,
  startReceiver,
  startService,
} from "../../src/index.ts";
import { Client } from "./client.ts";

export interface Embedded extends AsyncDisposable {
  readonly service: Service;
  readonly api: Client;
}

/** A service with a clock that stands still, unless the options say otherwise. */
export async function embedded(options: ServiceOptions = {}): Promise<Embedded> {
  const service = await startService({ clock: "manual", ...options });
  const api = clientOf(service);
  const end = async () => {
    api.close();
    await service.close();
  };
  return { service, api, [Symbol.asyncDispose]: end };
}

export const clientOf = ({ baseUrl, apiKey }: Service): Client => new Client({ baseUrl, key: apiKey });

const SECRET = "whsecret-for-tests";

/** A receiver and a webhook of the service that leads to it. */
export async function subscribed(api: Client, events: readonly string[], answers: readonly ReceiverAnswer[] = [200]) {
  const receiver = await startReceiver({ secret: SECRET, answers });
  const webhook = await api.create("/webhooks", { url: receiver.url, events, secret: SECRET });
  return { receiver, webhook, [Symbol.asyncDispose]: () => receiver.close() };
}

export const titles = ({ received }: Receiver): unknown[] => received.map(({ event }) => event.data.object.title);
