// The service in the hands of whoever started it: the command, or a test (contract, part 10). It gives a server its life
// - plants or resumes, listens, takes everything down again in the opposite order - and is the handle by which tests move
// its time, disturb it, look in, and bring it back to a state.
import type { SignInOptions } from "./authorization-server.ts";
import { setAccountState } from "./domain/access.ts";
import type { AccountRecord, AccountState } from "./domain/model.ts";
import type { TokenAnswer } from "./domain/oauth/tokens.ts";
import { Refusal } from "./domain/refusal.ts";
import type { Store, StoreData } from "./domain/store.ts";
import { Unit } from "./domain/work.ts";
import { Chaos, type ChaosRule, chaosRule, type GivenChaos } from "./embedding/chaos.ts";
import type { TestControls } from "./embedding/controls.ts";
import { type JournalDelivery, type JournalRequest, Journals, type Trace } from "./embedding/journals.ts";
import { Rules } from "./embedding/rules.ts";
import { ServiceClock } from "./embedding/service-clock.ts";
import { type Settled, settle } from "./embedding/settled.ts";
import { type Standing, States } from "./embedding/states.ts";
import { type FaultMark, type FaultRule, Faults, type GivenFault } from "./http/faults.ts";
import { ServiceLinks } from "./http/links.ts";
import { routes } from "./http/routes.ts";
import { Turns } from "./kit/background.ts";
import type { AdjustableClock, Ran } from "./kit/clock.ts";
import { seededRandom, systemRandom, TimeOrderedIds } from "./kit/ids.ts";
import type { Log } from "./kit/log.ts";
import type { Settings } from "./options.ts";
import type { EventEnvelope } from "./receiver.ts";
import { Server } from "./server.ts";
import type { Start } from "./start.ts";

export interface ServiceParts {
  readonly settings: Settings;
  readonly clock: AdjustableClock;
  readonly store: Store;
  readonly log: Log;
  readonly watched: boolean;
}

export class Service implements AsyncDisposable {
  /** Time, as the service sees it. */
  readonly clock: ServiceClock;
  /** Disturbs deliveries. */
  readonly chaos: Rules<GivenChaos, ChaosRule>;
  /** Where everything is kept. */
  readonly store: Store;
  readonly #journals: Journals;
  readonly #server: Server;
  readonly #states: States;
  readonly #turns = new Turns();
  readonly #clock: AdjustableClock;
  readonly #control: boolean;
  readonly #watched: boolean;
  #faults: Rules<GivenFault, FaultRule> | undefined;
  #links = new ServiceLinks("http://localhost");
  #standing: Standing | undefined;
  #closed: Promise<void> | undefined;

  constructor({ settings, clock, store, log, watched }: ServiceParts, seed: object | string | null) {
    this.#clock = clock;
    this.#control = settings.control;
    this.#watched = watched;
    this.store = store;
    this.#journals = new Journals(clock);
    const chaos = new Chaos({
      ...{ store, clock },
      onStrike: (id, attempt, effect) => this.#journals.disturbed(id, attempt, effect),
      inBackground: (what, work) => this.#server.workers.run(what, work),
    });
    this.chaos = new Rules("chaos", chaosRule, chaos);
    this.clock = new ServiceClock(clock, (by_ms) => this.#advance(by_ms));
    const { randomSeed, apiKey } = settings;
    const ids = new TimeOrderedIds(clock, randomSeed === null ? systemRandom : seededRandom(randomSeed));
    if (watched) this.#journals.hear(store, (error) => log.error(error, "noting what was committed"));
    const tools = watched ? { journals: this.#journals, chaos } : {};
    this.#server = new Server({ settings, clock, ids, store, log, ...tools });
    const { unit, access, limiter, workers, webhookDraft } = this.#server;
    const rules = { seed, apiKey, needsKey: watched, webhookDraft, log };
    const forget = () => this.#forget();
    const resettable = watched;
    this.#states = new States({ unit, clock, ids, access, limiter, workers, rules, randomSeed, resettable, forget });
  }

  async open(): Promise<void> {
    // The port first: where it is taken, no key may be planted that nobody would ever get to see.
    const links = await this.#server.listen();
    this.#links = links;
    const start = await this.#states.open();
    this.#standing = { ...start, signInToken: "" }; // told to nobody before this has ended
    const onStrike = (id: string, mark: FaultMark) => this.#journals.struck(id, mark);
    const faults = new Faults({ rows: routes, clock: this.#clock, links, onStrike });
    this.#faults = new Rules("faults", faults.rule, faults);
    const controls = this.#control ? await this.#controls(links) : undefined;
    // Where somebody looks in, nothing is to be seen half begun: all deliveries settled because none was taken up yet.
    if (this.#watched) await this.#begin(start);
    this.#server.serve(links, faults, controls);
    if (this.#watched) return;
    await whoCameFirst();
    await this.#begin(start);
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
    return this.#known.apiKey;
  }

  get account(): AccountRecord {
    return this.#known.account;
  }

  get signInUrl(): string {
    return this.#links.signIn(this.#known.signInToken);
  }

  /** Has requests fail. */
  get faults(): Rules<GivenFault, FaultRule> {
    if (this.#faults === undefined) throw new Error("The service has not started");
    return this.#faults;
  }

  /** What came in. */
  get requests(): readonly JournalRequest[] {
    return this.#journals.requests;
  }

  /** What was emitted. */
  get events(): readonly EventEnvelope[] {
    return this.#journals.events;
  }

  /** What was sent, and is to be. */
  get deliveries(): readonly JournalDelivery[] {
    return this.#journals.deliveries;
  }

  /** What the request with this X-Request-Id has led to. */
  trace(requestId: string): Trace | undefined {
    return this.#journals.trace(requestId);
  }

  /** Waits until every delivery that is due now has been attempted, for 5 s where no other time is given. */
  settled({ timeoutMs }: { readonly timeoutMs?: number } = {}): Promise<Settled> {
    return settle(this.#server.workers, timeoutMs);
  }

  /** Tokens of a user without a browser: the account's first admin unless one is named. */
  async signIn(options: SignInOptions): Promise<TokenAnswer> {
    const oauth = await this.#server.oauth;
    return oauth.signIn(this.account, options);
  }

  async setAccountState(state: AccountState): Promise<AccountRecord> {
    const changed = await setAccountState(new Unit(this.#server.unit), this.account.id, state);
    if (changed instanceof Refusal) throw new Error("The account is gone");
    this.#standing = { ...this.#known, account: changed };
    return changed;
  }

  /** Everything that is kept and the time, as plain JSON. */
  snapshot(): Promise<StoreData> {
    return this.#states.snapshot();
  }

  /** Back to a snapshot, of this service or another. What was noted and asked for since is forgotten. */
  restore(snapshot: StoreData | Promise<StoreData>): Promise<void> {
    return this.#turns.run(async () => {
      this.#standing = await this.#states.restore(await snapshot, this.#known);
    });
  }

  /** Back to the seed, on the same port and with the same start-up key. */
  reset(): Promise<void> {
    return this.#turns.run(async () => {
      this.#standing = await this.#states.reset(this.apiKey);
    });
  }

  /** Finishes what is in flight, then ends: no timer and no socket is left. */
  close(): Promise<void> {
    this.#faults?.clear();
    this.#closed ??= this.#server.stop();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #known(): Standing {
    if (this.#standing === undefined) throw new Error("The service has not started");
    return this.#standing;
  }

  #advance(by_ms: number): Promise<Ran[]> {
    return this.#turns.run(async () => {
      await this.#server.workers.idle();
      await this.#server.workers.look();
      const ran = await this.#clock.advance(by_ms);
      await this.#server.workers.idle();
      return ran;
    });
  }

  async #begin(start: Start): Promise<void> {
    this.#standing = await this.#states.begin(start);
    await this.#server.workers.start();
  }

  async #controls(links: ServiceLinks): Promise<TestControls> {
    const { testControls } = await import("./embedding/controls.ts");
    return testControls(this, links);
  }

  #forget(): void {
    this.#journals.clear();
    this.chaos.clear();
    this.#faults?.clear();
  }
}

/**
 * A client that is already knocking is answered before the rest of the start: after the turn that runs, one brings its
 * connection and one its request.
 */
async function whoCameFirst(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
}
