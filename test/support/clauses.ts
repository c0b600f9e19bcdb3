// Names each black-box test after the clause of the specification that it holds (`clause`) or after the decision that
// this project took where the specification is silent (`choice`), so that `--test-name-pattern=6.signature` runs one.
// The tests run against a server of their own, one a file, or, where CONFORMANCE_BASE_URL and CONFORMANCE_API_KEY name
// one, against somebody else's: then what only our server can do is skipped, and says so.
import { after, test } from "node:test";
import { type Service, type ServiceOptions, startService } from "../../src/index.ts";
import { Client } from "./client.ts";
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

/** What a test needs of our own server: its handle, and `options` that the file's common server does not have. */
export interface Needs {
  readonly needs: "embedded";
  readonly options?: ServiceOptions;
}

type Run = (context: Context) => Promise<void>;
type OwnRun = (context: OwnContext) => Promise<void>;

/** A test of what the specification shows; `requirement` in our own words. The id is used once. */
export function clause(id: string, requirement: string, run: Run): void;
export function clause(id: string, requirement: string, needs: Needs, run: OwnRun): void;
export function clause(id: string, requirement: string, first: Run | Needs, second?: OwnRun): void {
  define(`${id}: ${requirement}`, first, second, false);
}

/** A test of what this project chose; `id` is the decision's. Several tests may hold one decision. */
export function choice(id: string, requirement: string, run: Run): void;
export function choice(id: string, requirement: string, needs: Needs, run: OwnRun): void;
export function choice(id: string, requirement: string, first: Run | Needs, second?: OwnRun): void {
  define(`${id} (our choice): ${requirement}`, first, second, true);
}

const { CONFORMANCE_BASE_URL, CONFORMANCE_API_KEY, CONFORMANCE_CHOICES } = process.env;
const foreign = CONFORMANCE_BASE_URL !== undefined;

function define(name: string, first: Run | Needs, second: OwnRun | undefined, ours: boolean): void {
  if (typeof first === "function") {
    const skip = foreign && ours && CONFORMANCE_CHOICES === undefined;
    test(name, skip ? { skip: "a choice of ours, not of the specification" } : {}, async () =>
      first(foreign ? foreignContext() : await common()),
    );
    return;
  }
  const { options } = first;
  const skip = foreign ? { skip: "needs a server of our own" } : {};
  test(name, skip, async () => {
    if (options === undefined) return second?.(await common());
    return withService(options, async (context) => second?.(context));
  });
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
