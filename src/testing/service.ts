// The service in the hands of whoever started it (contract, part 10): the handle by which tests move its time, disturb it,
// look in and bring it from one state to another (embedding/states.ts). On the way to one, what runs behind the answers
// ends. launch.ts puts together what it holds.
import { setAccountState } from "../domain/credentials.ts";
import { dueDeliveries } from "../domain/deliveries.ts";
import {
  type AccountRecord,
  type AccountState,
  accountState,
  SCOPES,
  type Scope,
  users,
} from "../domain/model.ts";
import type { AuthorizationServer } from "../domain/oauth/access-tokens.ts";
import { OAuthError, parseScope } from "../domain/oauth/rules.ts";
import { issueForUser, type TokenResponse } from "../domain/oauth/tokens.ts";
import { FIRST_RECORD, type StoreData } from "../domain/store.ts";
import { UnitOfWork } from "../domain/unit-of-work.ts";
import {
  after,
  type FiredTimer,
  type Instant,
  monotonicNow,
  parseDuration,
  parseIso,
  within,
} from "../lib/clock.ts";
import { OptionError, parseOption } from "../lib/schema.ts";
import { Mutex, type TaskTracker } from "../lib/tasks.ts";
import type {
  ChaosRule,
  ChaosRuleInput,
  FaultRule,
  FaultRuleInput,
  Rules,
} from "./disturbances.ts";
import type { JournalDelivery, Recorder } from "./recorder.ts";
import { createState, parseSnapshot, type StartupAccount, type StateDeps } from "./state.ts";

export interface ServiceDeps extends StateDeps {
  readonly port: number;
  readonly workers: Readonly<Record<"start" | "stop" | "look", () => Promise<void>>>;
  readonly tasks: TaskTracker;
  readonly limiter: { clear(): void };
  readonly answers: { clear(): void };
  readonly oauth: AuthorizationServer;
  readonly journals: Recorder;
  readonly faults: Rules<FaultRuleInput, FaultRule>;
  readonly chaos: Rules<ChaosRuleInput, ChaosRule>;
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

/** What is held back, or another process's, ends at a time that nothing here tells. */
const LOOK_AGAIN_MS = 5;
/** The last moment whose ISO 8601 form has a year of four digits. */
const LAST = parseIso("9999-12-31T23:59:59.999Z");

export type Service = Readonly<Awaited<ReturnType<typeof openService>>>;

export async function openService(deps: ServiceDeps) {
  const {
    port,
    unit,
    workers,
    tasks: background,
    limiter,
    answers,
    oauth,
    journals,
    faults,
    chaos,
    stop,
  } = deps;
  const { store, clock } = unit;
  const { baseUrl, authUrl } = deps.services.urls;
  const states = createState(deps);
  const mutex = new Mutex();
  /** Resolves when all has ended; undefined until that is asked for. */
  let closed: Promise<void> | undefined;

  const become = (bring: (apiKey: string | null) => Promise<StartupAccount>): Promise<void> =>
    mutex.run(async () => {
      // What a delay holds back happens to the state that it was sent to.
      faults.clear();
      await workers.stop();
      try {
        Object.assign(service, await bring(service.apiKey));
        for (const onlyNoted of [limiter, answers, journals, faults, chaos]) onlyNoted.clear();
      } finally {
        if (closed === undefined) await workers.start();
      }
    });

  const close = (): Promise<void> => {
    faults.clear();
    closed ??= stop();
    return closed;
  };

  const handle = {
    /** The REST API's root, which ends in /v1. */
    baseUrl,
    /** The authorization server. */
    authUrl,
    /** The one it listens on. */
    port,
    /** Time, as the service sees it; the service itself cannot tell whether it passed or was moved. */
    clock: {
      /** Milliseconds since 1970, as Date.now(). */
      now: (): Instant => clock.now(),
      freeze: (): void => clock.freeze(),
      resume: (): void => clock.resume(),
      /** Moves time on by "250ms", "30s", "5m", "2h" or "1d". All that falls due runs in the order of its time; answers what. */
      async advance(by: string): Promise<FiredTimer[]> {
        const by_ms = parseDuration(String(by));
        if (by_ms === undefined)
          throw new OptionError(
            `advance must be given a duration such as 250ms, 30s, 5m, 2h or 1d; it is ${by}`,
          );
        if (clock.now() + by_ms > LAST)
          throw new OptionError("advance must not go beyond the year 9999");
        return mutex.run(async () => {
          await background.idle();
          await workers.look();
          return clock.advance(by_ms, () => background.idle());
        });
      },
    },
    /** Has requests fail. */
    faults,
    /** Disturbs deliveries. */
    chaos,
    /**
     * Waits until every delivery that is due now has been attempted, for 5 s where no other time is given: in real time,
     * because sockets are. It is no guess. What other processes on the store have due is waited for as well.
     */
    async settled({
      timeoutMs = 5_000,
    }: {
      readonly timeoutMs?: number | undefined;
    } = {}): Promise<Settled> {
      if (typeof timeoutMs !== "number" || Number.isNaN(timeoutMs))
        throw new OptionError(
          `settled: timeoutMs must be a number of milliseconds; it is ${timeoutMs}`,
        );
      const until = monotonicNow() + timeoutMs;
      for (;;) {
        await within(until - monotonicNow(), background.idle());
        const due = await dueDeliveries(store, clock.now());
        // What is under way for nobody, as to a webhook that is deleted meanwhile, is waited for and not due.
        if (monotonicNow() >= until || (due.length === 0 && !background.busy))
          return { settled: due.length === 0, pending: due.map(journals.toJson) };
        await new Promise<void>((go) => after(LOOK_AGAIN_MS, go));
      }
    },
    /** Tokens of a user without a browser: the account's first admin unless one is named. */
    async signIn({ scopes, userId }: SignInOptions): Promise<TokenResponse> {
      const { id } = service.account;
      const asked = parseScope([scopes].flat().join(" "));
      if (typeof asked === "string") throw new OptionError(`signIn: ${asked}`);
      if (asked.length === 0)
        throw new OptionError(`signIn: scopes is empty; the scopes are ${SCOPES.join(", ")}.`);
      const [admin] = await store.page(users, "account_admin", [id, true], FIRST_RECORD);
      const user = userId === undefined ? admin : await store.get(users, userId);
      if (user?.account_id !== id)
        throw new OptionError(`signIn: there is no user ${userId ?? "with the permission admin"}`);
      const answer = await issueForUser(oauth, user, asked);
      if (answer instanceof OAuthError) throw new OptionError(`signIn: ${answer.description}`);
      return answer;
    },
    async setAccountState(state: AccountState): Promise<AccountRecord> {
      await setAccountState(
        new UnitOfWork(unit),
        service.account.id,
        parseOption(accountState, state, "setAccountState"),
      );
      service.account = { ...service.account, state };
      return service.account;
    },
    /** Everything that is kept and the time, as plain JSON. */
    snapshot: states.snapshot,
    /**
     * To a snapshot, of this service or another. A manual clock gets its time. Where the start-up key is not in it, it is
     * added.
     */
    async restore(snapshot: StoreData | Promise<StoreData>): Promise<void> {
      const data = parseSnapshot(await snapshot);
      await become((apiKey) => states.restore(data, apiKey));
    },
    /** Back to the seed, on the same port and with the same start-up key. */
    reset: (): Promise<void> => become(states.reset),
    close,
    [Symbol.asyncDispose]: close,
  };
  const service = Object.assign(journals.read, handle, await states.open());
  await workers.start();
  return service;
}
