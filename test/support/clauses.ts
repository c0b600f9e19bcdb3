// Names each black-box test after the clause of the specification that it holds (`clause`, in test/spec) or after the
// decision that this project took where the specification is silent (`choice`, in test/choices), so that
// `--test-name-pattern=6.signature` runs one.
// The tests run against a server of their own, one a file, or, where CONFORMANCE_BASE_URL and CONFORMANCE_API_KEY name
// one, against somebody else's: then what only our server can do is skipped, and says so.
import { after, test } from "node:test";
import type { DecisionId } from "../../src/decisions.ts";
import { type Service, type ServiceOptions, startService } from "../../src/index.ts";
import { Client } from "./client.ts";
import { ApiDocument } from "./openapi.ts";
import { type ClauseId, SPEC_CLAUSES } from "./spec-clauses.ts";

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

type Run = (context: Context) => Promise<void>;
type OwnRun = (context: OwnContext) => Promise<void>;

/** A row of the register, or a facet of one. */
type ChoiceId = DecisionId | `${DecisionId}.${string}`;

/** A test of what the specification shows; its words stand in the list of clauses. Each clause has one test. */
export function clause(id: ClauseId, run: Run): void;
export function clause(id: ClauseId, server: Server, run: OwnRun): void;
export function clause(id: ClauseId, first: Run | Server, second?: OwnRun): void {
  define(`${id}: ${SPEC_CLAUSES[id]}`, first, second);
}

/** A test of what this project chose; `id` is the decision's. Several tests may hold one decision. */
export function choice(id: ChoiceId, requirement: string, run: Run): void;
export function choice(id: ChoiceId, requirement: string, server: Server, run: OwnRun): void;
export function choice(id: ChoiceId, requirement: string, first: Run | Server, second?: OwnRun): void {
  define(`${id} (our choice): ${requirement}`, first, second);
}

const { CONFORMANCE_BASE_URL, CONFORMANCE_API_KEY } = process.env;
const foreign = CONFORMANCE_BASE_URL !== undefined;

function define(name: string, first: Run | Server, second: OwnRun | undefined): void {
  if (typeof first === "function") {
    test(name, async () => first(foreign ? foreignContext() : await common()));
    return;
  }
  const skip = foreign ? { skip: "needs a server of our own" } : {};
  test(name, skip, async () =>
    first === "ours" ? second?.(await common()) : withService(first, async (context) => second?.(context)),
  );
}

function foreignContext(): Context {
  const baseUrl = String(CONFORMANCE_BASE_URL).replace(/\/+$/, "");
  const api = keep(new Client({ baseUrl, key: CONFORMANCE_API_KEY ?? null }));
  return { api, baseUrl, authUrl: new URL(baseUrl).origin };
}

const opened: Client[] = [];
function keep(client: Client): Client {
  opened.push(client);
  return client;
}

let shared: Promise<OwnContext> | undefined;
/** The one server of a test file, started by the first test that asks for it. */
function common(): Promise<OwnContext> {
  shared ??= open({});
  return shared;
}

after(async () => {
  for (const client of opened) client.close();
  await (await shared)?.service.close();
});

async function open(options: ServiceOptions): Promise<OwnContext> {
  const service = await startService({ port: 0, log: "off", ...options });
  const { baseUrl, authUrl } = service;
  const plain = new Client({ baseUrl, key: service.apiKey });
  const document = new ApiDocument((await plain.root.as(null).get("/openapi.json")).json);
  plain.close();
  const observe = document.check.bind(document);
  const api = keep(new Client({ baseUrl, key: service.apiKey, observe }));
  return { api, baseUrl, authUrl, service, document };
}

/** A server with options of its own, closed whatever `use` does. */
export async function withService(options: ServiceOptions, use: (context: OwnContext) => Promise<void>): Promise<void> {
  const context = await open(options);
  try {
    await use(context);
  } finally {
    context.api.close();
    await context.service.close();
  }
}
