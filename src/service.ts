// The composition root: the one place that knows every layer. Opens the store, plants what a fresh server starts with,
// listens, and takes everything down again in the opposite order.
import { type AuthorizationServer, authorizationServer, type SignInOptions } from "./authorization-server.ts";
import { judgeUrl } from "./delivery/address-policy.ts";
import type { Outbox, OutboxParts } from "./delivery/outbox.ts";
import { Access } from "./domain/access.ts";
import { setAccountState } from "./domain/account.ts";
import { processDataSource, unprocessed } from "./domain/data-processing.ts";
import { EXPIRING } from "./domain/expiring.ts";
import { Expiry } from "./domain/expiry.ts";
import { RateLimiter } from "./domain/limits.ts";
import { type AccountRecord, type AccountState, collections } from "./domain/model.ts";
import type { TokenAnswer } from "./domain/oauth/tokens.ts";
import { Refusal } from "./domain/refusal.ts";
import { Sweeper } from "./domain/retention.ts";
import type { Store } from "./domain/store.ts";
import { webhookChanges, webhookDraft } from "./domain/webhooks.ts";
import { type Due, Unit, type UnitParts } from "./domain/work.ts";
import { api, front, health, home } from "./http/front.ts";
import { ServiceLinks } from "./http/links.ts";
import { Listener } from "./http/listener.ts";
import { openApiDoor } from "./http/openapi.ts";
import type { Services } from "./http/route.ts";
import { Router } from "./http/router.ts";
import { routes } from "./http/routes.ts";
import { Presenter } from "./http/view.ts";
import { Background } from "./kit/background.ts";
import { Bell } from "./kit/bell.ts";
import { AdjustableClock, instant } from "./kit/clock.ts";
import { seededRandom, systemRandom, TimeOrderedIds } from "./kit/ids.ts";
import { type Log, logTo } from "./kit/log.ts";
import { type GivenSettings, OptionError, readSettings, type Settings } from "./options.ts";
import { pages } from "./pages.ts";
import { begin, type Start } from "./start.ts";
import { memoryStore } from "./store/memory.ts";
import { policyOf, textOf, webhookOutbox } from "./webhook-delivery.ts";

export interface ServiceOptions extends Omit<GivenSettings, "seed"> {
  /** A seed, or the name of its file. */
  readonly seed?: object | string | undefined;
  /** Where to keep everything; memory by default. */
  readonly store?: Store | undefined;
  /** "manual" stands still until it is advanced. */
  readonly clock?: "system" | "manual" | undefined;
  /** ISO 8601: where a manual clock starts. */
  readonly startAt?: string | undefined;
}

const terminal = {
  out: (line: string) => void process.stdout.write(`${line}\n`),
  err: (line: string) => void process.stderr.write(`${line}\n`),
};

const MANUAL_START = "2026-01-01T00:00:00.000Z";

/** Starts the service; resolves when it listens and everything in it is ready to use. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const settings = readSettings({ port: 0, log: "off", ...options, seed: undefined }, (name) => name);
  return run(settings, options);
}

/** The same for a process of its own: settings were read from flags already. */
export async function run(settings: Settings, options: ServiceOptions): Promise<Service> {
  const clock = new AdjustableClock(options.clock === "manual" ? instant(options.startAt ?? MANUAL_START) : undefined);
  const log = logTo(settings.log, clock, terminal);
  const store = options.store ?? (await storeOf(settings, log));
  const service = new Service(settings, clock, store, log); // refuses wrong files before the store is locked
  await store.open(collections);
  try {
    await service.open(options.seed ?? settings.seed);
    return service;
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** The file store is loaded only where it is used: a start in memory need not wait for it. */
async function storeOf({ data }: Settings, log: Log): Promise<Store> {
  if (data === null) return memoryStore();
  const { jsonFileStore } = await import("./store/json-file.ts");
  return jsonFileStore(data, { warn: (line) => log.warn(line) });
}

export class Service implements AsyncDisposable {
  readonly clock: AdjustableClock;
  readonly store: Store;
  readonly #settings: Settings;
  readonly #log: Log;
  readonly #listener: Listener;
  readonly #background: Background;
  readonly #unit: UnitParts;
  readonly #access: Access;
  readonly #limiter: RateLimiter;
  readonly #outbox: Outbox;
  readonly #expiry: Expiry;
  readonly #sweeper: Sweeper;
  readonly #bell = new Bell();
  #links = new ServiceLinks("http://localhost");
  #start: Start | undefined;
  #oauth: AuthorizationServer | undefined;
  #closed: Promise<void> | undefined;

  constructor(settings: Settings, clock: AdjustableClock, store: Store, log: Log) {
    this.#settings = settings;
    this.clock = clock;
    this.store = store;
    this.#log = log;
    this.#background = new Background((error, during) => log.error(error, during));
    const ids = new TimeOrderedIds(
      clock,
      settings.randomSeed === null ? systemRandom : seededRandom(settings.randomSeed),
    );
    this.#unit = { store, clock, ids, onDue: (due) => this.#onDue(due) };
    this.#limiter = new RateLimiter(clock, settings.rateLimit);
    this.#access = new Access({
      store,
      clock,
      checkToken: (token) => this.#authorization().check(token),
      onError: (error) => log.error(error, "noting the use of an API key"),
    });
    const onError = (error: unknown, during: string) => log.error(error, during);
    const onAttempt: OutboxParts["onAttempt"] = (_sent, delivery) => this.#bell.ring(delivery?.webhook_id ?? "");
    this.#outbox = webhookOutbox(this.#unit, settings, { onError, onAttempt });
    this.#expiry = new Expiry({ store, clock, lists: EXPIRING, onError });
    this.#sweeper = new Sweeper(store, this.#background);
    this.#listener = listenerOf(settings);
  }

  async open(seed: object | string | null): Promise<void> {
    const draft = webhookDraft((url) => judgeUrl(url, policyOf(this.#settings)));
    // The port first: where it is taken, no key may be planted that nobody would ever get to see.
    const port = await this.#listener.listen(this.#settings.port, this.#settings.host);
    this.#start = await begin(this.#unit, { seed, apiKey: this.#settings.apiKey, webhookDraft: draft, log: this.#log });
    this.#links = new ServiceLinks(this.#settings.publicUrl ?? this.#localUrl(port));
    this.#oauth = authorizationServer({
      unit: this.#unit,
      links: this.#links,
      alg: this.#settings.tokenAlg,
      announce: (line) => this.#log.announce(line),
    });
    const services: Services = { links: this.#links, webhookDraft: draft, webhookChanges: webhookChanges(draft) };
    const router = new Router({
      rows: routes,
      access: this.#access,
      limiter: this.#limiter,
      unit: this.#unit,
      services,
      presenter: new Presenter(this.#links),
    });
    const { visits } = this.#oauth;
    const web = pages({ unit: this.#unit, visits, services, limiter: this.#limiter, bell: this.#bell });
    const doors = [
      web.first,
      api((call) => router.handle(call)),
      ...this.#oauth.doors,
      ...web.doors,
      health(this.#links),
      openApiDoor(routes, this.#links),
      home(this.#links),
    ];
    this.#listener.serve({
      ids: this.#unit.ids,
      handle: front(doors, this.#links),
      links: this.#links,
      onError: (error, id) => this.#log.error(error, id),
      onAnswer: (call, status, duration_ms) =>
        this.#log.request({ id: call.id, method: call.method, path: call.path, status, duration_ms }),
    });
    await this.#expiry.look();
    await this.#outbox.start();
    for (const id of await unprocessed(this.store)) this.#process(id);
  }

  /** The REST API's root, which ends in /v1. */
  get baseUrl(): string {
    return this.#links.baseUrl;
  }

  /** The authorization server. */
  get authUrl(): string {
    return this.#links.authUrl;
  }

  /** The start-up API key; null where existing data holds only its hash. */
  get apiKey(): string | null {
    return this.#start?.apiKey ?? null;
  }

  get account(): AccountRecord {
    if (this.#start === undefined) throw new Error("The service has not started");
    return this.#start.account;
  }

  get signInUrl(): string {
    return this.#links.signIn(this.#start?.signInToken ?? "");
  }

  /** Tokens of a user without a browser: the account's first admin unless one is named. */
  signIn(options: SignInOptions): Promise<TokenAnswer> {
    return this.#authorization().signIn(this.account, options);
  }

  #authorization(): AuthorizationServer {
    if (this.#oauth === undefined) throw new Error("The service has not started");
    return this.#oauth;
  }

  async setAccountState(state: AccountState): Promise<void> {
    const changed = await setAccountState(new Unit(this.#unit), this.account.id, state);
    if (changed instanceof Refusal) throw new Error("The account is gone");
  }

  /** Finishes what is in flight, then ends: no timer and no socket is left. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await this.#listener.stop();
    await this.#access.settled();
    await this.#background.idle();
    this.#expiry.stop();
    await this.#outbox.stop();
    this.clock.close();
    await this.store.close();
  }

  #onDue(due: Due): void {
    this.#outbox.notify(due.webhooks);
    for (const id of due.webhooks) this.#bell.ring(id);
    for (const id of due.dataSources) this.#process(id);
    this.#sweeper.notify(due.sweeps);
  }

  #process(id: string): void {
    this.#background.run("processing a data source", async () => {
      await processDataSource(new Unit(this.#unit), id);
    });
  }

  #localUrl(port: number): string {
    const { host, tlsCert } = this.#settings;
    const shown = host === "127.0.0.1" || host === "0.0.0.0" || host === "::" || host === "::1" ? "localhost" : host;
    return `${tlsCert === null ? "http" : "https"}://${shown.includes(":") ? `[${shown}]` : shown}:${port}`;
  }
}

function listenerOf({ tlsCert, tlsKey }: Settings): Listener {
  if (tlsCert === null || tlsKey === null) return new Listener();
  const tls = { cert: textOf("tls-cert", tlsCert), key: textOf("tls-key", tlsKey) };
  try {
    return new Listener(tls);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OptionError(`--tls-cert and --tls-key must be a certificate and its private key (PEM): ${why}`);
  }
}
