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
}

export interface OwnContext extends Context {
  readonly service: Service;
  readonly document: ApiDocument;
}

/** A test that cannot do with anybody's server takes the file's common one of ours, or one of its own with options. */
export type Server = "ours" | ServiceOptions;
/** A server of its own, whose clock stands still. */
export const MANUAL = { clock: "manual" } as const;

type Run = (context: Context) => Promise<unknown>;
type OwnRun = (context: OwnContext) => Promise<unknown>;

/** A row of the register, or a facet of one. */
type ChoiceId = DecisionId | `${DecisionId}.${string}`;

/** A test of what this project chose; `id` is the decision's. Several tests may hold one decision. */
export function choice(id: ChoiceId, requirement: string, run: Run): void;
export function choice(id: ChoiceId, requirement: string, server: Server, run: OwnRun): void;
export function choice(id: ChoiceId, requirement: string, first: Run | Server, second?: OwnRun): void {
  define(`${id} (our choice): ${requirement}`, first, second);
}

function define(name: string, first: Run | Server, second: OwnRun = async () => {}): void {
  test(name, async () => {
    if (typeof first === "function") await first(await common());
    else if (first === "ours") await second(await common());
    else await withService(first, second);
  });
}

let shared: Promise<OwnContext> | undefined;
/** The one server of a test file, started by the first test that asks for it. */
function common(): Promise<OwnContext> {
  shared ??= open({});
  return shared;
}
closeLater(async () => shared && end(await shared));

async function end({ api, service }: OwnContext): Promise<void> {
  api.close();
  await service.close();
}

async function open(options: ServiceOptions): Promise<OwnContext> {
  const service = await startService({ port: 0, log: "off", ...options });
  const { baseUrl, authUrl } = service;
  const document = new ApiDocument(members(await (await fetch(`${authUrl}/openapi.json`)).json()));
  const observe = document.check.bind(document);
  const api = new Client({ baseUrl, key: service.apiKey, observe });
  return { api, baseUrl, authUrl, service, document };
}

/** A server with options of its own, closed whatever `use` does. */
export async function withService(options: ServiceOptions, use: OwnRun): Promise<void> {
  const context = await open(options);
  await use(context).finally(() => end(context));
}
