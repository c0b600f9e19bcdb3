// Names each black-box test after the decision that this project took where the specification is silent, so that
// `--test-name-pattern=4.etag` runs one. The tests run against a server of their own, one a file.
import { test } from "node:test";
import type { DecisionId } from "../../src/decisions.ts";
import { type Service, type ServiceOptions, startService } from "../../src/index.ts";
import { Client, members } from "./client.ts";
import { closeLater } from "./closing.ts";
import { ApiDocument } from "./openapi.ts";

export interface Context {
  /** Speaks to the base URL with an API key. */
  readonly api: Client;
  readonly baseUrl: string;
  /** The server's root, beside /v1. */
  readonly authUrl: string;
  readonly service: Service;
  readonly document: ApiDocument;
}

/** A server of its own, whose clock stands still. */
export const MANUAL = { clock: "manual" } as const;

type Run = (context: Context) => Promise<unknown>;

/** A row of the register, or a facet of one. */
type ChoiceId = DecisionId | `${DecisionId}.${string}`;

/**
 * A test of what this project chose, on the file's common server or on one of its own, with these options. `id` is the
 * decision's; several tests may hold one decision.
 */
export function choice(
  id: ChoiceId,
  requirement: string,
  ...how: readonly [Run] | readonly [ServiceOptions, Run]
): void {
  test(`${id} (our choice): ${requirement}`, async () => {
    if (how.length === 1) await how[0](await common());
    else await withService(...how);
  });
}

let shared: Promise<Context> | undefined;
/** The one server of a test file, started by the first test that asks for it. */
function common(): Promise<Context> {
  shared ??= open({});
  return shared;
}
closeLater(async () => shared && end(await shared));

async function end({ api, service }: Context): Promise<void> {
  api.close();
  await service.close();
}

async function open(options: ServiceOptions): Promise<Context> {
  const service = await startService({ port: 0, log: "off", ...options });
  const { baseUrl, authUrl } = service;
  const document = new ApiDocument(members(await (await fetch(`${authUrl}/openapi.json`)).json()));
  const observe = document.check.bind(document);
  const api = new Client({ baseUrl, key: service.apiKey, observe });
  return { api, baseUrl, authUrl, service, document };
}

/** A server with options of its own, closed whatever `use` does. */
export async function withService(options: ServiceOptions, use: Run): Promise<void> {
  const context = await open(options);
  await use(context).finally(() => end(context));
}
