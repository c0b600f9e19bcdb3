// The states that a service stands in (contract, parts 1 and 10): what its seed plants in a fresh store, what an existing
// one holds, and any snapshot: everything the store keeps as plain JSON, in the form of the store's own file, with the
// service's time as a record among the others. On the way to one, what runs behind the answers ends, everything kept is
// replaced in one step, and all that was only counted or noted begins anew. Requests under way are their sender's to wait
// for.
import type { Workers } from "../delivery/workers.ts";
import { keyOf, setAccountState } from "../domain/access.ts";
import { collections } from "../domain/collections.ts";
import { addApiKey } from "../domain/credentials.ts";
import { processDataSource, unprocessed } from "../domain/data-sources.ts";
import type { RateLimiter } from "../domain/limits.ts";
import { type AccountRecord, type AccountState, accounts, clockRecords, events, users } from "../domain/model.ts";
import type { Context } from "../domain/oauth/access-tokens.ts";
import { Refusal } from "../domain/refusal.ts";
import { DEFAULT_SEED, FIRST_KEY, plant, seedSchema } from "../domain/seed.ts";
import { ALL, type StoreData } from "../domain/store.ts";
import { newSignIn } from "../domain/users.ts";
import { Unit, type UnitParts, type Work } from "../domain/work.ts";
import { explain } from "../http/problem.ts";
import type { Services } from "../http/route.ts";
import { type Background, Turns } from "../kit/background.ts";
import { type AdjustableClock, instant, isDateTime, iso, realClock } from "../kit/clock.ts";
import { seededRandom, type TimeOrderedIds } from "../kit/ids.ts";
import type { Log } from "../kit/log.ts";
import { fitting, OptionError } from "../kit/schema.ts";
import { memoryStore } from "../store/memory.ts";
import type { Journals } from "./journals.ts";
import type { ChaosRule, FaultRule, GivenChaos, GivenFault, Rules } from "./rules.ts";

export interface ServiceParts {
  /** Of the settings, what a state depends on. */
  readonly settings: Readonly<Record<"apiKey" | "randomSeed", string | null> & { clock: string; seed: object | null }>;
  readonly unit: UnitParts & { readonly clock: AdjustableClock; readonly ids: TimeOrderedIds };
  readonly services: Services;
  readonly port: number;
  readonly workers: Workers;
  readonly background: Background;
  readonly log: Log;
  /** Somebody holds the service in their hands and needs a key that opens it. */
  readonly watched: boolean;
  readonly limiter: RateLimiter;
  readonly oauth: Context;
  readonly journals: Journals;
  readonly faults: Rules<GivenFault, FaultRule>;
  readonly chaos: Rules<GivenChaos, ChaosRule>;
  readonly stop: () => Promise<void>;
}

const FIRST = { offset: 0, limit: 1 };
/** Longer than the largest seed takes. */
const SOWING_MS = 60_000;
const SOWN_AFTER_MS = 50;

export abstract class States {
  /** The start-up API key in clear; null where existing data holds only its hash. */
  apiKey: string | null = null;
  account: AccountRecord = { id: "", name: "", state: "active" };
  signInUrl = "";
  /** The e-mail address of whom `signInUrl` is for. */
  signsIn = "";
  protected readonly parts: ServiceParts;
  protected readonly turns = new Turns();
  /** Resolves when all has ended; undefined until that is asked for. */
  protected closed: Promise<void> | undefined;
  #seed: ReturnType<typeof planted> | undefined;

  constructor(parts: ServiceParts) {
    this.parts = parts;
  }

  async setAccountState(state: AccountState): Promise<AccountRecord> {
    const changed = await setAccountState(new Unit(this.parts.unit), this.account.id, state);
    if (changed instanceof Refusal) throw new Error("The account is gone");
    this.account = { ...this.account, state };
    return this.account;
  }

  /** Everything that is kept and the time, as plain JSON. */
  async snapshot(): Promise<StoreData> {
    const { store, clock } = this.parts.unit;
    const { format, collections } = await store.snapshot();
    const now = [{ id: "now", at: iso(clock.now()) }];
    return { format, collections: { ...collections, [clockRecords.name]: now } };
  }

  /** To what the store holds; to the seed where it is fresh. Of processes that start together on one, one sows. */
  protected open(): Promise<void> {
    const { settings, log, unit } = this.parts;
    const { store } = unit;
    return this.#become(async () => {
      await this.#agree();
      const isFresh = async () => (await store.count(accounts, "all", ["accounts"])) === 0;
      while (await isFresh()) {
        const lease = await store.lease("sowing", SOWING_MS);
        if (lease && (await isFresh())) return this.#sow(settings.apiKey).finally(() => lease.release());
        await lease?.release();
        await new Promise<void>((go) => realClock.schedule(realClock.now() + SOWN_AFTER_MS, null, go));
      }
      if (settings.seed) log.warn("The seed was not used: the store already holds an account.");
      if (settings.clock === "system") await this.#goOn();
      return settings.apiKey;
    });
  }

  /** Back to the seed, on the same port and with the same start-up key. */
  reset(): Promise<void> {
    return this.#become(async () => {
      this.parts.unit.clock.rewind();
      await this.#agree();
      return this.#sow(this.apiKey);
    });
  }

  /** To a snapshot, of this service or another, and its time. Where the start-up key is not in it, it is added. */
  async restore(snapshot: StoreData | Promise<StoreData>): Promise<void> {
    const { store, clock } = this.parts.unit;
    const data = checkedSnapshot(await snapshot);
    await this.#become(async () => {
      await this.#replace(data);
      const at = String((await store.get(clockRecords, "now"))?.at);
      if (isDateTime(at)) clock.set(instant(at));
      return this.apiKey;
    });
  }

  /** `bring` has the store hold what it shall, and answers the start-up key. */
  #become(bring: () => Promise<string | null>): Promise<void> {
    const { workers, unit } = this.parts;
    return this.turns.run(async () => {
      await workers.stop();
      try {
        const key = await bring();
        Object.assign(this, await new Unit(unit).transact((w) => this.#entered(w, key)));
      } finally {
        if (this.closed === undefined) await workers.start();
      }
    });
  }

  /**
   * The account that the start-up key opens, or else the first one, which the key opens from now on; with a new sign-in
   * link for its first admin, for its first user where a seed names no admin.
   */
  async #entered(w: Work, key: string | null) {
    const { watched, services } = this.parts;
    const known = key === null ? undefined : await keyOf(w.tx, key);
    const [first] = await w.tx.page(accounts, "all", ["accounts"], FIRST);
    const account = known ? await w.tx.get(accounts, known.account_id) : first;
    if (account === undefined) throw new Error("The store holds no account");
    const { id, name, state } = account;
    const isAdded = known === undefined && (key !== null || watched);
    const apiKey = isAdded ? (await addApiKey(w, id, { name: FIRST_KEY, key: key ?? undefined })).key : key;
    const [admin] = await w.tx.page(users, "account_admin", [id, true], FIRST);
    const [anybody] = await w.tx.page(users, "account", [id], FIRST);
    const user = admin ?? anybody;
    const link = user && { signsIn: user.email, signInUrl: services.links.signIn(await newSignIn(w, user.id)) };
    return { account: { id, name, state }, apiKey, ...link };
  }

  /** On the time of the store, where others go by it, too. */
  async #agree(): Promise<void> {
    const { settings, unit } = this.parts;
    if (settings.clock === "system" && unit.store.now) unit.clock.set(await unit.store.now());
  }

  /** Where the system's clock was set back, time goes on from the last event: new ids come last, and retries in time. */
  async #goOn(): Promise<void> {
    const { store, clock } = this.parts.unit;
    for (const { id } of await store.page(accounts, "all", ["accounts"], ALL)) {
      const count = await store.count(events, "account", [id]);
      const [last] = await store.page(events, "account", [id], { offset: Math.max(count - 1, 0), limit: 1 });
      if (last !== undefined) clock.set(Math.max(instant(last.created), clock.now()));
    }
  }

  async #replace(data: StoreData): Promise<void> {
    const { unit, limiter, journals, faults, chaos } = this.parts;
    await unit.store.restore(data);
    for (const each of [limiter, journals, faults, chaos]) each.clear();
  }

  /** From here on a service of the same random seed makes the same ids, however often it is reset. */
  async #sow(apiKey: string | null): Promise<string> {
    const { unit, settings } = this.parts;
    this.#seed ??= planted(this.parts, apiKey);
    const { key, data } = await this.#seed;
    await this.#replace(data);
    if (settings.randomSeed !== null) unit.ids.restart(seededRandom(`${settings.randomSeed}, after the start`));
    return key;
  }
}

/** In a store of its own: no reader ever sees half of the seed, or its data before they are processed. */
async function planted({ settings, services, unit }: ServiceParts, apiKey: string | null) {
  const given = settings.seed && fitting(seedSchema(services.webhookDraft), settings.seed, "The seed is wrong");
  const store = memoryStore();
  await store.open(collections);
  const aside = new Unit({ ...unit, store });
  const made = await plant(aside, given ?? DEFAULT_SEED, apiKey ?? undefined);
  if (made instanceof Refusal) throw new OptionError(`The seed is wrong: ${explain(made).detail}`);
  for (const id of await unprocessed(store)) await processDataSource(aside, id);
  return { key: made, data: await store.snapshot() };
}

/** What somebody hands back as a snapshot. Its records are the store's to judge; whether they are what they were is not asked. */
function checkedSnapshot(value: unknown): StoreData {
  const { format, collections } = Object(value);
  if (format !== 1) throw new OptionError(`The snapshot's format must be 1; it is ${JSON.stringify(format)}`);
  for (const [name, records] of Object.entries(Object(collections)))
    if (!Array.isArray(records)) throw new OptionError(`The snapshot's ${name} must be an array of records`);
  if (!collections?.[accounts.name]?.length) throw new OptionError("The snapshot holds no account");
  return { format, collections };
}
