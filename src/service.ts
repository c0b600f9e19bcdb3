// The service in the hands of whoever started it (contract, part 10): the handle by which tests move its time, disturb it,
// look in, and bring it back to a state. launch.ts puts together what it holds.
import { setAccountState } from "./domain/access.ts";
import { type AccountRecord, type AccountState, SCOPES, type Scope, users } from "./domain/model.ts";
import type { Context } from "./domain/oauth/access-tokens.ts";
import { OAuthError, scopesIn } from "./domain/oauth/rules.ts";
import { handOver, type TokenAnswer } from "./domain/oauth/tokens.ts";
import { Refusal } from "./domain/refusal.ts";
import type { StoreData } from "./domain/store.ts";
import { Unit } from "./domain/work.ts";
import type { JournalDelivery, JournalRequest, Journals, Trace } from "./embedding/journals.ts";
import type { ChaosRule, FaultRule, GivenChaos, GivenFault, Rules } from "./embedding/rules.ts";
import type { Standing, States } from "./embedding/states.ts";
import type { ServiceLinks } from "./http/links.ts";
import { Turns } from "./kit/background.ts";
import { type AdjustableClock, duration, type Instant, type Ran } from "./kit/clock.ts";
import { OptionError } from "./options.ts";
import type { EventEnvelope } from "./receiver.ts";
import type { Workers } from "./workers.ts";

export interface ServiceParts {
  readonly clock: AdjustableClock;
  readonly oauth: Context;
  readonly links: ServiceLinks;
  readonly journals: Journals;
  readonly faults: Rules<GivenFault, FaultRule>;
  readonly chaos: Rules<GivenChaos, ChaosRule>;
  readonly workers: Workers;
  readonly states: States;
  readonly stop: () => Promise<void>;
}

/** Whether every delivery that is due has been attempted, and which have not. */
export interface Settled {
  readonly settled: boolean;
  readonly pending: readonly JournalDelivery[];
}

export interface SignInOptions {
  readonly scopes: readonly Scope[];
  /** The account's first admin where none is named. */
  readonly userId?: string | undefined;
}

/** The last moment whose ISO 8601 form has a year of four digits. */
const LAST: Instant = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export class Service implements AsyncDisposable {
  /** Time, as the service sees it; the service itself cannot tell whether it passed or was moved. */
  readonly clock = {
    /** Milliseconds since 1970, as Date.now(). */
    now: (): Instant => this.#parts.clock.now(),
    freeze: (): void => this.#parts.clock.freeze(),
    resume: (): void => this.#parts.clock.resume(),
    /** Moves time on by "250ms", "30s", "5m", "2h" or "1d". All that falls due runs in the order of its time; answers what. */
    advance: (by: string): Promise<Ran[]> => this.#advance(by),
  };
  /** Has requests fail. */
  readonly faults: Rules<GivenFault, FaultRule>;
  /** Disturbs deliveries. */
  readonly chaos: Rules<GivenChaos, ChaosRule>;
  /** The REST API's root, which ends in /v1. */
  readonly baseUrl: string;
  /** The authorization server. */
  readonly authUrl: string;
  readonly #parts: ServiceParts;
  readonly #turns = new Turns();
  #standing: Standing;
  #closed: Promise<void> | undefined;

  constructor(parts: ServiceParts, standing: Standing) {
    this.faults = parts.faults;
    this.chaos = parts.chaos;
    this.baseUrl = parts.links.baseUrl;
    this.authUrl = parts.links.authUrl;
    this.#parts = parts;
    this.#standing = standing;
  }

  /** The start-up API key; null where existing data holds only its hash. */
  get apiKey(): string | null {
    return this.#standing.apiKey;
  }

  get account(): AccountRecord {
    return this.#standing.account;
  }

  /** The e-mail address of whom `signInUrl` is for. */
  get signsIn(): string {
    return this.#standing.signsIn;
  }

  get signInUrl(): string {
    return this.#parts.links.signIn(this.#standing.signInToken);
  }

  /** What came in. */
  get requests(): readonly JournalRequest[] {
    return this.#parts.journals.requests;
  }

  /** What was emitted. */
  get events(): readonly EventEnvelope[] {
    return this.#parts.journals.events;
  }

  /** What was sent, and is to be. */
  get deliveries(): readonly JournalDelivery[] {
    return this.#parts.journals.deliveries;
  }

  /** What the request with this X-Request-Id has led to. */
  trace(requestId: string): Trace | undefined {
    return this.#parts.journals.trace(requestId);
  }

  /** Waits until every delivery that is due now has been attempted, for 5 s where no other time is given. */
  async settled({ timeoutMs = 5_000 }: { readonly timeoutMs?: number | undefined } = {}): Promise<Settled> {
    const { workers, journals } = this.#parts;
    const { settled, pending } = await workers.settled(timeoutMs);
    return { settled, pending: pending.map((delivery) => journals.shown(delivery)) };
  }

  /** Tokens of a user without a browser: the account's first admin unless one is named. */
  async signIn({ scopes, userId }: SignInOptions): Promise<TokenAnswer> {
    const { id } = this.account;
    const { oauth } = this.#parts;
    const asked = scopesIn(scopes.join(" "));
    if (typeof asked === "string")
      throw new OptionError(`signIn: there is no scope ${asked}; the scopes are ${SCOPES.join(", ")}`);
    const [admin] = await oauth.store.page(users, "account_admin", [id, true], { offset: 0, limit: 1 });
    const user = userId === undefined ? admin : await oauth.store.get(users, userId);
    if (user?.account_id !== id) throw new Error(`signIn: there is no user ${userId ?? "with the permission admin"}`);
    const answer = await handOver(oauth, user, asked);
    if (answer instanceof OAuthError) throw new Error(`signIn: ${answer.description}`);
    return answer;
  }

  async setAccountState(state: AccountState): Promise<AccountRecord> {
    const account = await setAccountState(new Unit(this.#parts.oauth), this.account.id, state);
    if (account instanceof Refusal) throw new Error("The account is gone");
    this.#standing = { ...this.#standing, account };
    return account;
  }

  /** Everything that is kept and the time, as plain JSON. */
  snapshot(): Promise<StoreData> {
    return this.#parts.states.snapshot();
  }

  /** Back to a snapshot, of this service or another. What was noted and asked for since is forgotten. */
  restore(snapshot: StoreData | Promise<StoreData>): Promise<void> {
    return this.#turns.run(async () => {
      this.#standing = await this.#parts.states.restore(await snapshot, this.#standing);
    });
  }

  /** Back to the seed, on the same port and with the same start-up key. */
  reset(): Promise<void> {
    return this.#turns.run(async () => {
      this.#standing = await this.#parts.states.reset(this.apiKey);
    });
  }

  /** Finishes what is in flight, then ends: no timer and no socket is left. */
  close(): Promise<void> {
    this.faults.clear();
    this.#closed ??= this.#parts.stop();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #advance(by: string): Promise<Ran[]> {
    const { workers, clock } = this.#parts;
    const by_ms = typeof by === "string" ? duration(by) : undefined;
    if (by_ms === undefined)
      throw new OptionError(`advance must be given a duration such as 250ms, 30s, 5m, 2h or 1d; it is ${String(by)}`);
    if (clock.now() + by_ms > LAST) throw new OptionError("advance must not go beyond the year 9999");
    return this.#turns.run(async () => {
      await workers.idle();
      await workers.look();
      const ran = await clock.advance(by_ms);
      await workers.idle();
      return ran;
    });
  }
}
