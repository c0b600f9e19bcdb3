// The service handle for embedding tests (contract, part 10): tests use it to move time, inject faults, inspect
// journals and switch between states (testing/state.ts). Background work is stopped before a state change. server.ts
// supplies its dependencies.
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
  readonly oauth: AuthorizationServer;
  readonly journals: Recorder;
  readonly faults: Rules<FaultRuleInput, FaultRule>;
  readonly chaos: Rules<ChaosRuleInput, ChaosRule>;
  readonly stop: () => Promise<void>;
}

/** Reports whether every due delivery has been attempted, and which are pending. */
export interface Settled {
  readonly settled: boolean;
  readonly pending: readonly JournalDelivery[];
}

export interface SignInOptions {
  readonly scopes: readonly Scope[];
  /** Defaults to the account's first admin. */
  readonly userId?: string | undefined;
}

/** Poll interval: attempts that are held back, or run in another process, publish nothing here when they end. */
const LOOK_AGAIN_MS = 5;
/** The last instant whose ISO 8601 form has a four-digit year. */
const LAST = parseIso("9999-12-31T23:59:59.999Z");

export type Service = Readonly<Awaited<ReturnType<typeof openService>>>;

export async function openService(deps: ServiceDeps) {
  const {
    port,
    unit,
    workers,
    tasks: background,
    limiter,
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
  /** Resolves when the service has closed; undefined until `close` is called. */
  let closed: Promise<void> | undefined;

  const become = (bring: (apiKey: string | null) => Promise<StartupAccount>): Promise<void> =>
    mutex.run(async () => {
      // Release delayed requests first, so that they run against the state they were sent to.
      faults.clear();
      await workers.stop();
      try {
        Object.assign(service, await bring(service.apiKey));
        for (const onlyNoted of [limiter, journals, faults, chaos]) onlyNoted.clear();
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
    /** The port it listens on. */
    port,
    /** The service's clock. The service cannot distinguish moved time from elapsed time. */
    clock: {
      /** Milliseconds since 1970, as Date.now(). */
      now: (): Instant => clock.now(),
      freeze: (): void => clock.freeze(),
      resume: (): void => clock.resume(),
      /** Advances time by "250ms", "30s", "5m", "2h" or "1d", runs due timers in order and returns them. */
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
    /** Faults for requests. */
    faults,
    /** Chaos for deliveries. */
    chaos,
    /**
     * Waits until every due delivery has been attempted, at most `timeoutMs` of real time, because sockets need it
     * (default 5 s). Deliveries due in other processes on the store count too.
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
        // Attempts that no due row accounts for, such as those to a deleted webhook, are awaited but not reported.
        if (monotonicNow() >= until || (due.length === 0 && !background.busy))
          return { settled: due.length === 0, pending: due.map(journals.toJson) };
        await new Promise<void>((go) => after(LOOK_AGAIN_MS, go));
      }
    },
    /** Returns tokens for a user without a browser; defaults to the account's first admin. */
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
    /** Returns all stored data and the time as plain JSON. */
    snapshot: states.snapshot,
    /**
     * Restores a snapshot of this or another service. A manual clock takes the snapshot's time. The start-up key is
     * added if it is missing.
     */
    async restore(snapshot: StoreData | Promise<StoreData>): Promise<void> {
      const data = parseSnapshot(await snapshot);
      await become((apiKey) => states.restore(data, apiKey));
    },
    /** Returns to the seed, on the same port and with the same start-up key. */
    reset: (): Promise<void> => become(states.reset),
    close,
    [Symbol.asyncDispose]: close,
  };
  const service = Object.assign(journals.read, handle, await states.open());
  await workers.start();
  return service;
}
