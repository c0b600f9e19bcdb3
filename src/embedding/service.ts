// The service in the hands of whoever started it (contract, part 10): the handle by which tests move its time, disturb it
// and look in; the states that it is brought to are in embedding/states.ts. launch.ts puts together what it holds.
import { once } from "node:events";
import { dueDeliveries } from "../domain/deliveries.ts";
import { type EventEnvelope, SCOPES, type Scope, users } from "../domain/model.ts";
import { OAuthError, scopesIn } from "../domain/oauth/rules.ts";
import { handOver, type TokenAnswer } from "../domain/oauth/tokens.ts";
import { duration, type Instant, type Ran } from "../kit/clock.ts";
import { OptionError } from "../kit/schema.ts";
import type { JournalDelivery, JournalRequest, Trace } from "./journals.ts";
import { type ServiceParts, States } from "./states.ts";

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

export class Service extends States implements AsyncDisposable {
  /** Time, as the service sees it; the service itself cannot tell whether it passed or was moved. */
  readonly clock = {
    /** Milliseconds since 1970, as Date.now(). */
    now: (): Instant => this.parts.unit.clock.now(),
    freeze: (): void => this.parts.unit.clock.freeze(),
    resume: (): void => this.parts.unit.clock.resume(),
    /** Moves time on by "250ms", "30s", "5m", "2h" or "1d". All that falls due runs in the order of its time; answers what. */
    advance: (by: string): Promise<Ran[]> => this.#advance(by),
  };
  /** Has requests fail. */
  readonly faults = this.parts.faults;
  /** Disturbs deliveries. */
  readonly chaos = this.parts.chaos;
  /** The REST API's root, which ends in /v1. */
  readonly baseUrl = this.parts.services.links.baseUrl;
  /** The authorization server. */
  readonly authUrl = this.parts.services.links.authUrl;
  /** The one it listens on. */
  readonly port = this.parts.port;

  static async open(parts: ServiceParts): Promise<Service> {
    const service = new Service(parts);
    await service.open();
    return service;
  }

  /** What came in, here; with other processes on the store, each has requests of its own. */
  get requests(): readonly JournalRequest[] {
    return this.parts.journals.requests();
  }

  /** What was emitted since this start, by other processes on the store as well. */
  get events(): readonly EventEnvelope[] {
    return this.parts.journals.events();
  }

  /** What was sent, and is to be, by whichever process. */
  get deliveries(): readonly JournalDelivery[] {
    return this.parts.journals.deliveries();
  }

  /** What the request with this X-Request-Id has led to. */
  trace(requestId: string): Trace | undefined {
    return this.parts.journals.trace(requestId);
  }

  /**
   * Waits until every delivery that is due now has been attempted, for 5 s where no other time is given: in real time,
   * because sockets are. It is no guess and no sleep. What other processes on the store have due is waited for as well.
   */
  async settled({ timeoutMs = 5_000 }: { readonly timeoutMs?: number | undefined } = {}): Promise<Settled> {
    const { unit, background, journals } = this.parts;
    const patience = AbortSignal.timeout(timeoutMs);
    const passed = once(patience, "abort");
    for (;;) {
      await Promise.race([background.idle(), passed]);
      const due = await dueDeliveries(unit.store, unit.clock.now());
      const settled = due.length === 0 && !background.busy;
      if (settled || patience.aborted) return { settled, pending: due.map((each) => journals.shown(each)) };
      if (!background.busy) await Promise.race([background.next(), passed]);
    }
  }

  /** Tokens of a user without a browser: the account's first admin unless one is named. */
  async signIn({ scopes, userId }: SignInOptions): Promise<TokenAnswer> {
    const { id } = this.account;
    const { oauth } = this.parts;
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

  /** Finishes what is in flight, then ends: no timer and no socket is left. */
  close(): Promise<void> {
    this.faults.clear();
    this.closed ??= this.parts.stop();
    return this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #advance(by: string): Promise<Ran[]> {
    const { workers, background, unit } = this.parts;
    const { clock } = unit;
    const by_ms = duration(String(by));
    if (by_ms === undefined)
      throw new OptionError(`advance must be given a duration such as 250ms, 30s, 5m, 2h or 1d; it is ${by}`);
    if (clock.now() + by_ms > LAST) throw new OptionError("advance must not go beyond the year 9999");
    return this.turns.run(async () => {
      await background.idle();
      await workers.look();
      const ran = await clock.advance(by_ms);
      await background.idle();
      return ran;
    });
  }
}
