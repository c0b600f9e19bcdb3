// The states of a service (contract, parts 1 and 10): the seed of a fresh store, existing data, or a snapshot. A
// snapshot is all stored data as plain JSON in the format of the store's file, with the service's time as one more
// record. Restoring replaces everything in one step; counters and journals start again. The caller stops background
// work and waits for requests in progress.

import { collections } from "../domain/collections.ts";
import { createApiKey, findApiKey, sha256 } from "../domain/credentials.ts";
import { listUnprocessed, processDataSource } from "../domain/data-sources.ts";
import { moveBack } from "../domain/deliveries.ts";
import {
  type AccountRecord,
  accounts,
  clockRecords,
  deliveries,
  events,
  users,
} from "../domain/model.ts";
import { signingKeys } from "../domain/oauth/signing-keys.ts";
import { applySeed, DEFAULT_SEED, FIRST_KEY, seedSchema } from "../domain/seed.ts";
import {
  ALL_RECORDS,
  type Collection,
  type Entity,
  FIRST_RECORD,
  type Reader,
  type StoreData,
  type Tx,
} from "../domain/store.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { createSignInToken } from "../domain/users.ts";
import type { AppContext } from "../http/route.ts";
import { type AdjustableClock, type Instant, isDateTime, parseIso, toIso } from "../lib/clock.ts";
import { seededRandom, type TimeOrderedIds } from "../lib/ids.ts";
import { OptionError, parseOption, unsafeCast } from "../lib/schema.ts";
import { memoryStore } from "../store/memory.ts";

export interface StateDeps {
  /** The settings that a state depends on. */
  readonly settings: Readonly<
    Record<"apiKey" | "randomSeed" | "startAt", string | null> & {
      clock: string;
      seed: object | null;
    }
  >;
  readonly unit: UnitOfWorkDeps & { readonly clock: AdjustableClock; readonly ids: TimeOrderedIds };
  readonly services: AppContext;
  readonly log: { warn(message: string): void };
  /** A test holds the service handle and needs a known API key. */
  readonly watched: boolean;
}

/** Indexes that list an account's records in creation order, including samples of test deliveries. */
const LISTS = collections.flatMap((each) => {
  const from: Collection<Entity> = unsafeCast(each);
  return ["account", "sample"]
    .filter((index) => index in from.indexes)
    .map((index) => ({ from, index }));
});

/** The account of the loaded state, and the credentials for it. */
export interface StartupAccount {
  account: AccountRecord;
  /** The start-up API key in clear; null where existing data holds only its hash. */
  apiKey: string | null;
  signInUrl: string;
  /** The e-mail address of the user that `signInUrl` signs in. */
  signInEmail: string;
}

/** Loads states into the store. */
export function createState(deps: StateDeps) {
  const { settings, log, unit } = deps;
  const { store, clock, ids } = unit;
  const { urls } = deps.services;
  let seed: Awaited<ReturnType<typeof buildSeed>> | undefined;

  /** Sets the start time of a fresh store. */
  async function begin(): Promise<void> {
    clock.rewind();
  }

  /** Returns the time of the snapshot that the data came from. */
  async function snapshotTime(): Promise<Instant | undefined> {
    const noted = await store.get(clockRecords, "now");
    return noted && isDateTime(noted.at) ? parseIso(noted.at) : undefined;
  }

  async function lastEventTime(): Promise<Instant> {
    let latest = Number.NEGATIVE_INFINITY;
    for (const { id } of await store.page(accounts, "all", ["accounts"], ALL_RECORDS)) {
      const last = await lastOf(events, "account", id);
      if (last !== undefined) latest = Math.max(latest, parseIso(last.created));
    }
    return latest;
  }

  /**
   * Continues from the time of the data. A system clock keeps the machine's time; if the data are from a later time,
   * pending work is moved back, as when the machine's clock is set back.
   */
  async function goOn(from: Instant): Promise<void> {
    if (settings.clock === "manual") clock.set(from);
    else if (from > clock.now())
      await new UnitOfWork(unit).run((ctx) => moveBack(ctx, from - clock.now()));
  }

  /** Makes new ids sort last, even if existing records have a later time or the same millisecond. */
  async function follow(): Promise<void> {
    for (const { id } of await store.page(accounts, "all", ["accounts"], ALL_RECORDS))
      for (const { from, index } of LISTS)
        ids.resumeAfter((await lastOf(from, index, id))?.id ?? "");
  }

  async function lastOf<R extends Entity, I extends string>(
    from: Collection<R, I>,
    index: I,
    accountId: string,
  ) {
    const count = await store.count(from, index, [accountId]);
    const [last] = await store.page(from, index, [accountId], {
      offset: Math.max(count - 1, 0),
      limit: 1,
    });
    return last;
  }

  /**
   * Reseeds the id generator from the random seed and the stored ids. Equal records continue with equal ids, other
   * records with new ones. Only ids count, because receivers have other ports in each run. Signing keys are left out
   * because they are random. A fresh seed counts as constant, because it holds the time of a running clock.
   */
  async function repeat(isSown: boolean): Promise<void> {
    const { randomSeed } = settings;
    if (randomSeed === null) return;
    const kept = async () =>
      Object.values({ ...(await store.snapshot()).collections, [signingKeys.name]: [] });
    const idsOf = (lists: readonly (readonly Entity[])[]) =>
      lists.map((records) => records.map(({ id }) => id));
    const from = isSown ? "the seed" : sha256(JSON.stringify(idsOf(await kept())));
    ids.reseed(seededRandom(`${randomSeed}, ${from}`));
  }

  /**
   * Returns the account of this key; without one the first account, which then gets the key. Creates a sign-in link for
   * its first admin, or its first user if a seed names no admin.
   */
  async function enter(key: string | null, isSown = false): Promise<StartupAccount> {
    await repeat(isSown);
    await follow();
    return new UnitOfWork(unit).run(async (ctx) => {
      const known = await findApiKey(ctx.tx, key ?? "");
      const [first] = await ctx.tx.page(accounts, "all", ["accounts"], FIRST_RECORD);
      const account = known ? await ctx.tx.get(accounts, known.account_id) : first;
      if (account === undefined) throw new Error("The store holds no account");
      const { id, name, state } = account;
      const isAdded = known === undefined && (key !== null || deps.watched);
      const added =
        isAdded && (await createApiKey(ctx, id, { name: FIRST_KEY, key: key ?? undefined }));
      const [admin] = await ctx.tx.page(users, "account_admin", [id, true], FIRST_RECORD);
      const [anybody] = await ctx.tx.page(users, "account", [id], FIRST_RECORD);
      const user = admin ?? anybody;
      const signInUrl = user ? urls.signIn(await createSignInToken(ctx, user.id)) : "";
      return {
        account: { id, name, state },
        apiKey: added ? added.key : key,
        signInUrl,
        signInEmail: user?.email ?? "",
      };
    });
  }

  return {
    /**
     * Opens existing data, or plants the seed in a fresh store. If several processes start together, only one plants
     * it.
     */
    async open(): Promise<StartupAccount> {
      await begin();
      const isFresh = async (reader: Reader) =>
        (await reader.count(accounts, "all", ["accounts"])) === 0;
      // A given seed is validated over existing data too, so that errors are reported before a reset needs it.
      const own =
        settings.seed || (await isFresh(store))
          ? await buildSeed(deps, settings.apiKey)
          : undefined;
      const sow = async (tx: Tx, { collections: sown }: StoreData) => {
        if (!(await isFresh(tx))) return false;
        for (const into of collections)
          for (const record of sown[into.name] ?? []) await tx.put(into, unsafeCast<never>(record));
        return true;
      };
      const isFirst = own !== undefined && (await store.transact((tx) => sow(tx, own.data)));
      if (isFirst) {
        seed = own;
        return enter(own.key, true);
      }
      if (settings.seed) log.warn("The seed was not used: the store already holds an account.");
      const from = Math.max(
        clock.now(),
        (await snapshotTime()) ?? clock.now(),
        await lastEventTime(),
      );
      if (settings.startAt === null) await goOn(from);
      return enter(settings.apiKey);
    },
    /** Returns to the seed with the same start-up key. */
    async reset(apiKey: string | null): Promise<StartupAccount> {
      await begin();
      seed ??= await buildSeed(deps, apiKey);
      await store.restore(seed.data);
      return enter(seed.key, true);
    },
    /** Restores a snapshot of this or another service. The start-up key is added if it is missing. */
    async restore(data: StoreData, apiKey: string | null): Promise<StartupAccount> {
      await begin();
      await store.restore(data);
      await goOn((await snapshotTime()) ?? Math.max(clock.now(), await lastEventTime()));
      return enter(apiKey);
    },
    /** Returns all stored data and the time as plain JSON. */
    async snapshot(): Promise<StoreData> {
      const { format, collections } = await store.snapshot();
      const now = [{ id: "now", at: toIso(clock.now()) }];
      return { format, collections: { ...collections, [clockRecords.name]: now } };
    },
  };
}

/** Validates the outer form of a snapshot. The store validates its records; their origin is not checked. */
export function parseSnapshot(value: unknown): StoreData {
  const { format, collections } = Object(value);
  if (format !== 2)
    throw new OptionError(`The snapshot's format must be 2; it is ${JSON.stringify(format)}`);
  for (const [name, records] of Object.entries(Object(collections)))
    if (!Array.isArray(records))
      throw new OptionError(`The snapshot's ${name} must be an array of records`);
  if (
    !collections?.[accounts.name]?.some((each: unknown) => Object(each).partition === accounts.name)
  )
    throw new OptionError("The snapshot holds no account");
  return { format, collections };
}

/** Built in a separate store, so that no reader sees a partial seed or unprocessed data. */
async function buildSeed({ settings, services, unit }: StateDeps, apiKey: string | null) {
  const seed = parseOption(
    seedSchema(services.webhook, apiKey),
    settings.seed ?? DEFAULT_SEED,
    "The seed is wrong",
  );
  const store = memoryStore();
  await store.open(collections);
  const aside = new UnitOfWork({ ...unit, store });
  const key = await applySeed(aside, seed, apiKey);
  for (const id of await listUnprocessed(store)) await processDataSource(aside, id);
  const { format, collections: kept } = await store.snapshot();
  // A seed is the state before anything happened, so it emits no events.
  return {
    key,
    data: { format, collections: { ...kept, [events.name]: [], [deliveries.name]: [] } },
  };
}
