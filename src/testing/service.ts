// The service handle for embedding tests (1.test-controls): moves time, injects faults, shows journals and switches
// between states. Before a state change, requests end and background work stops.
import { setAccountState } from "../domain/credentials.ts";
import { AppError } from "../domain/errors.ts";
import { listDueDeliveries } from "../domain/events.ts";
import {
  type AccountRecord,
  type AccountState,
  accountState,
  SCOPES,
  scope,
  users,
} from "../domain/model.ts";
import {
  type AuthorizationServer,
  issueForUser,
  OAuthError,
  type TokenResponse,
} from "../domain/oauth/tokens.ts";
import { FIRST_RECORD, type StoreData } from "../domain/store.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import type { ServiceUrls } from "../http/message.ts";
import {
  type AdjustableClock,
  after,
  DURATION_EXAMPLES,
  type FiredTimer,
  type Instant,
  monotonicNow,
  parseDuration,
  parseIso,
  within,
} from "../lib/clock.ts";
import {
  array,
  type Infer,
  OptionError,
  object,
  optional,
  parseOption,
  text,
} from "../lib/schema.ts";
import { Mutex, type TaskTracker } from "../lib/tasks.ts";
import type { ChaosRule, ChaosRuleInput, FaultRule, FaultRuleInput, Rules } from "./faults.ts";
import type { JournalDelivery, Recorder } from "./recorder.ts";
import type { createState, StartupAccount } from "./state.ts";

interface ServiceDeps {
  readonly port: number;
  readonly urls: ServiceUrls;
  readonly unitOfWorkDeps: UnitOfWorkDeps & { readonly clock: AdjustableClock };
  readonly authorizationServer: AuthorizationServer;
  readonly state: Awaited<ReturnType<typeof createState>>;
  readonly workers: Readonly<Record<"start" | "stop" | "runRetention", () => Promise<void>>>;
  readonly tasks: TaskTracker;
  readonly recorder: Recorder;
  readonly faults: Rules<FaultRuleInput, FaultRule>;
  readonly chaos: Rules<ChaosRuleInput, ChaosRule>;
  /** Forgets what the service remembers outside its store. */
  readonly clearCaches: () => void;
  readonly stop: () => Promise<void>;
}

/** Whether every due delivery has been attempted, and which have not. */
export interface Settled {
  readonly settled: boolean;
  readonly pending: readonly JournalDelivery[];
}

export const signInOptions = object({
  scopes: array(scope, { min: 1, max: SCOPES.length }),
  /** Defaults to the account's first admin. */
  userId: optional(text({ max: 200 })),
});
export type SignInOptions = Pick<Infer<typeof signInOptions>, "scopes"> &
  Partial<Infer<typeof signInOptions>>;

/** Attempts that chaos holds back publish nothing when they end, so `settled` polls. */
const POLL_MS = 5;
/** The last instant whose ISO 8601 form has a four-digit year. */
const LAST = parseIso("9999-12-31T23:59:59.999Z");

export type Service = Awaited<ReturnType<typeof openService>>;

/** Loads the state, starts background work and returns the handle. */
export async function openService(deps: ServiceDeps) {
  const {
    unitOfWorkDeps,
    authorizationServer,
    state,
    workers,
    tasks,
    recorder,
    faults,
    chaos,
    clearCaches,
    stop,
  } = deps;
  const { store, clock } = unitOfWorkDeps;
  const mutex = new Mutex();
  let startup = await state.open();
  /** Resolves when the service has closed; undefined until `close` is called. */
  let closed: Promise<void> | undefined;

  function changeState(load: (apiKey: string | null) => Promise<StartupAccount>): Promise<void> {
    async function change(): Promise<void> {
      await workers.stop();
      try {
        startup = await load(startup.apiKey);
        clearCaches();
        recorder.clear();
        faults.clear();
        chaos.clear();
      } finally {
        if (closed === undefined) await workers.start();
      }
    }
    return mutex.run(() => recorder.runBetweenRequests(faults.clear, change));
  }

  function close(): Promise<void> {
    faults.clear();
    closed ??= stop();
    return closed;
  }

  await workers.start();

  return {
    /** The REST API's root, which ends in /v1. */
    baseUrl: deps.urls.baseUrl,
    /** The authorization server. */
    authUrl: deps.urls.authUrl,
    port: deps.port,
    get account(): AccountRecord {
      return startup.account;
    },
    /** The start-up API key; null over existing data without a known key. */
    get apiKey(): string | null {
      return startup.apiKey;
    },

    clock: {
      /** Milliseconds since 1970, as Date.now(). */
      now: (): Instant => clock.now(),
      freeze: (): void => clock.freeze(),
      resume: (): void => clock.resume(),
      /** Advances time by "250ms", "30s", "5m", "2h" or "1d", runs due timers in order and returns them. */
      async advance(duration: string): Promise<FiredTimer[]> {
        const by_ms = parseDuration(String(duration));
        if (by_ms === undefined || clock.now() + by_ms > LAST)
          throw new OptionError(
            `advance must be a duration such as ${DURATION_EXAMPLES}, and end before the year 10000; it is ${duration}`,
          );
        return mutex.run(async () => {
          await tasks.idle();
          await workers.runRetention();
          return clock.advance(by_ms, () => tasks.idle());
        });
      },
    },

    /** Faults for requests. */
    faults,
    /** Chaos for deliveries. */
    chaos,

    get requests() {
      return recorder.requests;
    },
    get events() {
      return recorder.events;
    },
    get deliveries() {
      return recorder.deliveries;
    },
    trace: recorder.trace,

    /** Waits until every due delivery has been attempted, at most `timeoutMs` of real time (default 5 s). */
    async settled(options: { readonly timeoutMs?: number | undefined } = {}): Promise<Settled> {
      const { timeoutMs = 5_000 } = options;
      const deadline = monotonicNow() + timeoutMs;
      for (;;) {
        await within(deadline - monotonicNow(), tasks.idle());
        const due = await listDueDeliveries(store, clock.now());
        if (due.length === 0 || !(monotonicNow() < deadline))
          return { settled: due.length === 0, pending: due.map(recorder.toJson) };
        await new Promise<void>((resolve) => after(POLL_MS, resolve));
      }
    },

    /** Returns tokens for a user without a browser. */
    async signIn(options: SignInOptions): Promise<TokenResponse> {
      const { scopes, userId } = parseOption(signInOptions, options, "signIn");
      const accountId = startup.account.id;
      const [admin] = await store.page(users, "account_admin", [accountId, true], FIRST_RECORD);
      const user = userId === undefined ? admin : await store.get(users, userId);
      if (user?.account_id !== accountId)
        throw new OptionError(`signIn: there is no user ${userId ?? "with the permission admin"}`);
      try {
        return await issueForUser(authorizationServer, user, scopes);
      } catch (error) {
        throw error instanceof OAuthError ? new OptionError(`signIn: ${error.message}`) : error;
      }
    },

    async setAccountState(newState: AccountState): Promise<AccountRecord> {
      const state = parseOption(accountState, newState, "setAccountState");
      const { account } = startup;
      const changed = await setAccountState(new UnitOfWork(unitOfWorkDeps), account.id, state);
      if (changed instanceof AppError)
        throw new OptionError("setAccountState: the account was replaced by a restore");
      if (startup.account === account) startup = { ...startup, account: changed };
      return changed;
    },

    /** Returns all stored data and the time as plain JSON. */
    snapshot: state.snapshot,
    /**
     * Restores a snapshot of this or another service. A manual clock takes the snapshot's time. The start-up key is
     * added if it is missing.
     */
    async restore(snapshot: StoreData | Promise<StoreData>): Promise<void> {
      const data = await snapshot;
      await changeState((apiKey) => state.restore(data, apiKey));
    },
    /** Returns to the seed, on the same port and with the same start-up key. */
    reset: (): Promise<void> => changeState(state.reset),

    close,
    [Symbol.asyncDispose]: close,
  };
}
