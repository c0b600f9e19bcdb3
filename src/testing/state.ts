// The states of a service (1.test-controls): the seed of a fresh store, existing data, or a snapshot. A snapshot is all
// stored data as plain JSON in the format of the store's file, with the service's time as one more record. The caller
// stops background work and waits for requests in progress.
import { clockRecords, collections } from "../domain/collections.ts";
import { createApiKey, findApiKey, generateApiKey } from "../domain/credentials.ts";
import { listUnprocessed, processDataSource } from "../domain/data-sources.ts";
import { type AccountRecord, accounts, deliveries, events } from "../domain/model.ts";
import { applySeed, DEFAULT_SEED, seedSchema } from "../domain/seed.ts";
import { FIRST_RECORD, type Reader, type Store, type StoreData } from "../domain/store.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import type { CheckUrl } from "../domain/webhooks.ts";
import { type AdjustableClock, isDateTime, parseIso, toIso } from "../lib/clock.ts";
import { seededRandom, type TimeOrderedIds } from "../lib/ids.ts";
import { OptionError, parseOption } from "../lib/schema.ts";
import { memoryStore } from "../store/memory.ts";

const KEY_NAME = "Start-up key";
const TIME_ID = "now";

interface StateDeps {
  readonly unitOfWorkDeps: UnitOfWorkDeps & {
    readonly clock: AdjustableClock;
    readonly ids: TimeOrderedIds;
  };
  readonly checkWebhookUrl: CheckUrl;
  readonly settings: {
    readonly apiKey: string | null;
    readonly randomSeed: string | null;
    readonly seed: object | null;
    readonly clock: "system" | "manual";
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

export async function createState({
  unitOfWorkDeps,
  checkWebhookUrl,
  settings,
  needsKey,
  warn,
}: StateDeps) {
  const { store, clock, ids } = unitOfWorkDeps;
  const seed = await buildSeed(unitOfWorkDeps, checkWebhookUrl, settings);

  /**
   * Makes new ids sort after all stored ones. With a random seed, equal ids continue with equal ids; other data, such as
   * the ports of receivers, differ between runs.
   */
  function continueIds({ collections }: StoreData): void {
    const lastIds = Object.values(collections).map((records) => records.at(-1)?.id ?? "");
    if (settings.randomSeed !== null)
      ids.reseed(seededRandom([settings.randomSeed, ...lastIds].join()));
    for (const id of lastIds) ids.resumeAfter(id);
  }

  /** Opens the account of this key, or the first account, which then gets the key. */
  const openAccount = (data: Store, apiKey: string | null): Promise<StartupAccount> =>
    new UnitOfWork({ ...unitOfWorkDeps, store: data }).run(async (ctx) => {
      const { account, storedKey } = await findAccount(ctx.tx, apiKey);
      if (apiKey !== null && !storedKey)
        await createApiKey({ account, ...ctx }, { name: KEY_NAME, key: apiKey });
      return { account, apiKey };
    });

  /** Replaces all data, once they are known to be valid. The start-up key is added to them if it is missing. */
  async function load(data: StoreData, apiKey: string | null): Promise<StartupAccount> {
    if (data?.format !== 2 || !data.collections)
      throw new OptionError("A snapshot must have the format 2 and collections");
    const loaded = await openMemoryStore();
    await loaded.restore(data);
    await findAccount(loaded, apiKey);
    const record = await loaded.get(clockRecords, TIME_ID);
    if (record && !isDateTime(String(record.at)))
      throw new OptionError("The snapshot's time must be a date and time");
    clock.rewind();
    if (record && settings.clock === "manual") clock.set(parseIso(record.at));
    continueIds(data);
    const account = await openAccount(loaded, apiKey);
    await store.restore(await loaded.snapshot());
    return account;
  }

  const reset = (apiKey: string | null) => load(seed.data, apiKey ?? seed.firstKey);

  return {
    /** Opens existing data, or loads the seed into a fresh store. */
    async open(): Promise<StartupAccount> {
      if ((await store.count(accounts, "all", [])) === 0) return reset(settings.apiKey);
      if (settings.seed) warn("The seed was not used, because the store already holds an account.");
      continueIds(await store.snapshot());
      return openAccount(store, settings.apiKey ?? (needsKey ? generateApiKey(ids) : null));
    },

    /** Returns to the seed with the same start-up key. */
    reset,

    /** Restores a snapshot of this or another service. A manual clock takes the snapshot's time. */
    restore: load,

    /** Returns all stored data and the time as plain JSON. */
    async snapshot(): Promise<StoreData> {
      const data = await store.snapshot();
      const time = [{ id: TIME_ID, at: toIso(clock.now()) }];
      return { ...data, collections: { ...data.collections, [clockRecords.name]: time } };
    },
  };
}

async function openMemoryStore() {
  const store = memoryStore();
  await store.open(collections);
  return store;
}

/** Returns the account of this key, or the first account if the key is not stored. */
async function findAccount(reader: Reader, apiKey: string | null) {
  const storedKey = apiKey === null ? undefined : await findApiKey(reader, apiKey);
  const [firstAccount] = await reader.page(accounts, "all", [], FIRST_RECORD);
  const account = storedKey ? await reader.get(accounts, storedKey.account_id) : firstAccount;
  if (account === undefined) throw new OptionError("The data lack the account of the start-up key");
  return { account, storedKey };
}

/**
 * Builds the seed in a separate store, so that nobody reads a partial seed or unprocessed data. Returns the data and
 * the first account's first key, which is not in the data if the seed names none.
 */
async function buildSeed(
  unitOfWorkDeps: UnitOfWorkDeps,
  checkWebhookUrl: CheckUrl,
  { seed, apiKey }: StateDeps["settings"],
) {
  const parsed = parseOption(seedSchema, seed ?? DEFAULT_SEED, "seed");
  const store = await openMemoryStore();
  const unitOfWork = new UnitOfWork({ ...unitOfWorkDeps, store });
  await applySeed(unitOfWork, parsed, apiKey, checkWebhookUrl);
  for (const id of await listUnprocessed(store)) await processDataSource(unitOfWork, id);
  const data = await store.snapshot();
  // A seed is the state before anything happened, so it has no events.
  const withoutEvents = { ...data.collections, [events.name]: [], [deliveries.name]: [] };
  const firstKey = parsed.accounts[0]?.api_keys[0]?.key ?? generateApiKey(unitOfWorkDeps.ids);
  return { data: { ...data, collections: withoutEvents }, firstKey };
}
