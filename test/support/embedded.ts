// For tests of the embedding handle: a service and a client for it, both closed with the test.
import assert from "node:assert/strict";
import {
  OptionError,
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

/** A start with these options is refused in one line that says so; answers the line. */
export async function startRefused(options: object, says: RegExp): Promise<string> {
  const error: unknown = await startService({ port: 0, log: "off", ...options }).catch((reason: unknown) => reason);
  assert.ok(error instanceof OptionError, String(error));
  assert.match(error.message, says);
  assert.doesNotMatch(error.message, /\n/);
  return error.message;
}

const SECRET = "whsecret-for-tests";

/** A receiver and a webhook of the service that leads to it. */
export async function subscribed(api: Client, events: readonly string[], answers: readonly ReceiverAnswer[] = [200]) {
  const receiver = await startReceiver({ secret: SECRET, answers });
  const webhook = await api.create("/webhooks", { url: receiver.url, events, secret: SECRET });
  return { receiver, webhook, [Symbol.asyncDispose]: () => receiver.close() };
}

export const titles = ({ received }: Receiver): unknown[] => received.map(({ event }) => event.data.object.title);
