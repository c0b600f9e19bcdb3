// The states of a service (contract, parts 1 and 10): the seed of a fresh store, existing data, or a snapshot. A snapshot
// is all stored data as plain JSON in the format of the store's file, with the service's time as one more record. The
// caller stops background work and waits for requests in progress.
import { collections } from "../domain/collections.ts";
import { createApiKey, findApiKey, sha256 } from "../domain/credentials.ts";
import { listUnprocessed, processDataSource } from "../domain/data-sources.ts";
import { moveBack } from "../domain/deliveries.ts";
import { type AccountRecord, accounts, clockRecords, deliveries, events } from "../domain/model.ts";
import { signingKeys } from "../domain/oauth/tokens.ts";
import { applySeed, DEFAULT_SEED, FIRST_KEY, seedSchema } from "../domain/seed.ts";
import { FIRST_RECORD, type StoreData } from "../domain/store.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import type { AppContext } from "../http/operation.ts";
import { type AdjustableClock, type Instant, parseIso, toIso } from "../lib/clock.ts";
import { seededRandom, type TimeOrderedIds } from "../lib/ids.ts";
import { OptionError, parseOption } from "../lib/schema.ts";
import { memoryStore } from "../store/memory.ts";

export interface StateDeps {
  readonly unit: UnitOfWorkDeps & { readonly clock: AdjustableClock; readonly ids: TimeOrderedIds };
  readonly services: AppContext;
  readonly settings: {
    readonly apiKey: string | null;
    readonly randomSeed: string | null;
    readonly seed: object | null;
    readonly clock: "system" | "manual";
    readonly startAt: string | null;
  };
  /** A test needs a known API key, over existing data too. */
  readonly needsKey: boolean;
  readonly warn: (message: string) => void;
}

/** The account of the loaded state, and its start-up API key; null where existing data hold only its hash. */
export interface StartupAccount {
  readonly account: AccountRecord;
  readonly apiKey: string | null;
}

export function createState({ unit, services, settings, needsKey, warn }: StateDeps) {
  const { store, clock, ids } = unit;
  let seed: PreparedSeed | undefined;

  /**
   * Continues from the time of the data. A system clock keeps the machine's time; if the data are from a later time,
   * waits are moved back, as when the machine's clock is set back.
   */
  async function continueFrom(time: Instant): Promise<void> {
    const ahead_ms = time - clock.now();
    if (settings.clock === "manual") clock.set(time);
    else if (ahead_ms > 0) await new UnitOfWork(unit).run((ctx) => moveBack(ctx, ahead_ms));
  }

  /**
   * Makes new ids sort after all stored ones. With a random seed, equal data continue with equal ids. Only ids count,
   * because receivers have other ports in each run; signing keys are left out because they are random.
   */
  function continueIds({ collections }: StoreData, isFreshSeed: boolean): void {
    if (settings.randomSeed !== null) {
      const lists = Object.values({ ...collections, [signingKeys.name]: [] });
      const storedIds = JSON.stringify(lists.map((records) => records.map(({ id }) => id)));
      // A fresh seed counts as constant, because its ids hold the time of a running clock.
      const origin = isFreshSeed ? "the seed" : sha256(storedIds);
      ids.reseed(seededRandom(`${settings.randomSeed}, ${origin}`));
    }
    for (const records of Object.values(collections)) ids.resumeAfter(records.at(-1)?.id ?? "");
  }

  /** Returns the account of this key, or the first account, which then gets the key. */
  async function openAccount(
    data: StoreData,
    apiKey: string | null,
    isFreshSeed = false,
  ): Promise<StartupAccount> {
    continueIds(data, isFreshSeed);
    return new UnitOfWork(unit).run(async (ctx) => {
      const storedKey = apiKey === null ? undefined : await findApiKey(ctx.tx, apiKey);
      const [firstAccount] = await ctx.tx.page(accounts, "all", ["accounts"], FIRST_RECORD);
      const account = storedKey ? await ctx.tx.get(accounts, storedKey.account_id) : firstAccount;
      if (account === undefined) throw new Error("The store holds no account.");
      const { id, name, state } = account;
      let key = apiKey;
      if (!storedKey && (apiKey !== null || needsKey))
        ({ key } = await createApiKey(ctx, id, { name: FIRST_KEY, key: apiKey ?? undefined }));
      return { account: { id, name, state }, apiKey: key };
    });
  }

  /** Returns to the seed with the same start-up key. */
  async function reset(apiKey: string | null): Promise<StartupAccount> {
    clock.rewind();
    seed ??= await buildSeed(unit, services, settings.seed, apiKey);
    await store.restore(seed.data);
    return openAccount(seed.data, seed.apiKey, true);
  }

  return {
    /** Opens existing data, or loads the seed into a fresh store. */
    async open(): Promise<StartupAccount> {
      const { apiKey, startAt } = settings;
      if ((await store.count(accounts, "all", ["accounts"])) === 0) return reset(apiKey);
      if (settings.seed) {
        // Validated now, so that errors are reported before a reset needs the seed.
        await buildSeed(unit, services, settings.seed, apiKey);
        warn("The seed was not used, because the store already holds an account.");
      }
      const data = await store.snapshot();
      const now = clock.now();
      const time = Math.max(now, snapshotTime(data) ?? now, lastEventTime(data));
      if (startAt === null) await continueFrom(time);
      return openAccount(data, apiKey);
    },

    reset,

    /** Restores a snapshot of this or another service. The start-up key is added if it is missing. */
    async restore(data: StoreData, apiKey: string | null): Promise<StartupAccount> {
      clock.rewind();
      await store.restore(data);
      await continueFrom(snapshotTime(data) ?? Math.max(clock.now(), lastEventTime(data)));
      return openAccount(data, apiKey);
    },

    /** Returns all stored data and the time as plain JSON. */
    async snapshot(): Promise<StoreData> {
      const data = await store.snapshot();
      const time = [{ id: "now", at: toIso(clock.now()) }];
      return { ...data, collections: { ...data.collections, [clockRecords.name]: time } };
    },
  };
}

/** Validates the outer form of a snapshot; the store validates its records. */
export function parseSnapshot(value: unknown): StoreData {
  const { format, collections = {} } = (value ?? {}) as Partial<StoreData>;
  if (format !== 2)
    throw new OptionError(`The snapshot's format must be 2; it is ${JSON.stringify(format)}`);
  for (const [name, records] of Object.entries(collections))
    if (!Array.isArray(records))
      throw new OptionError(`The snapshot's ${name} must be an array of records`);
  const [account] = collections[accounts.name] ?? [];
  if (account === undefined || !("partition" in account))
    throw new OptionError("The snapshot holds no account");
  return { format, collections };
}

/** The time of the snapshot that the data came from. */
function snapshotTime({ collections }: StoreData): Instant | undefined {
  const [record] = collections[clockRecords.name] ?? [];
  return record && "at" in record ? parseIso(String(record.at)) : undefined;
}

function lastEventTime({ collections }: StoreData): Instant {
  const event = collections[events.name]?.at(-1);
  return event && "created" in event ? parseIso(String(event.created)) : Number.NEGATIVE_INFINITY;
}

interface PreparedSeed {
  readonly data: StoreData;
  readonly apiKey: string;
}

/** Builds the seed in a separate store, so that nobody reads a partial seed or unprocessed data. */
async function buildSeed(
  unit: UnitOfWorkDeps,
  services: AppContext,
  source: object | null,
  pinnedKey: string | null,
): Promise<PreparedSeed> {
  const schema = seedSchema(services.webhook);
  const seed = parseOption(schema, source ?? DEFAULT_SEED, "The seed is wrong");
  const store = memoryStore();
  await store.open(collections);
  const unitOfWork = new UnitOfWork({ ...unit, store });
  const apiKey = await applySeed(unitOfWork, seed, pinnedKey);
  for (const id of await listUnprocessed(store)) await processDataSource(unitOfWork, id);
  const data = await store.snapshot();
  // A seed is the state before anything happened, so it has no events.
  const withoutEvents = { ...data.collections, [events.name]: [], [deliveries.name]: [] };
  return { data: { ...data, collections: withoutEvents }, apiKey };
}
