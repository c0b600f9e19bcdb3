// The states that a service stands in (contract, parts 1 and 10): what its seed plants in a fresh store, what an existing
// one holds, and any snapshot: everything the store keeps as plain JSON, in the form of the store's own file, with the
// service's time as a record among the others. On the way to one, what runs behind the answers ends, everything kept is
// replaced in one step, and all that was only counted or noted begins anew. Requests under way are their sender's to wait
// for.
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
import type { webhookDraft } from "../domain/webhooks.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import type { ServiceLinks } from "../http/links.ts";
import { explain } from "../http/problem.ts";
import { Turns } from "../kit/background.ts";
import { type AdjustableClock, instant, isDateTime, iso } from "../kit/clock.ts";
import { seededRandom, type TimeOrderedIds } from "../kit/ids.ts";
import type { Log } from "../kit/log.ts";
import { fitting, OptionError, type Settings } from "../options.ts";
import { memoryStore } from "../store/memory.ts";
import type { Workers } from "../workers.ts";
import type { Journals } from "./journals.ts";
import type { ChaosRule, FaultRule, GivenChaos, GivenFault, Rules } from "./rules.ts";

export interface ServiceParts {
  readonly settings: Settings;
  readonly unit: UnitParts;
  readonly clock: AdjustableClock;
  readonly ids: TimeOrderedIds;
  readonly links: ServiceLinks;
  readonly workers: Workers;
  readonly webhookDraft: ReturnType<typeof webhookDraft>;
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

type Start = Pick<States, "account" | "apiKey">;

const FIRST = { offset: 0, limit: 1 };

export abstract class States {
  /** The start-up API key in clear; null where existing data holds only its hash. */
  apiKey: string | null = null;
  account: AccountRecord = { id: "", name: "", state: "active" };
  signInUrl = "";
  /** The e-mail address of whom `signInUrl` is for. */
  signsIn = "";
  protected readonly parts: ServiceParts;
  protected readonly turns = new Turns();
  #seed: ReturnType<typeof planted> | undefined;

  constructor(parts: ServiceParts) {
    this.parts = parts;
  }

  async setAccountState(state: AccountState): Promise<AccountRecord> {
    const account = await setAccountState(new Unit(this.parts.unit), this.account.id, state);
    if (account instanceof Refusal) throw new Error("The account is gone");
    this.account = account;
    return account;
  }

  /** Everything that is kept and the time, as plain JSON. */
  async snapshot(): Promise<StoreData> {
    const { unit, clock } = this.parts;
    const { format, collections } = await unit.store.snapshot();
    const now = [{ id: "now", at: iso(clock.now()) }];
    return { format, collections: { ...collections, [clockRecords.name]: now } };
  }

  /** Takes up what the store holds; brings in the seed where it is fresh. */
  protected open(): Promise<void> {
    const { settings, log } = this.parts;
    return this.#become(async () => {
      const found = await this.#takeUp(settings.apiKey);
      if (found && settings.seed) log.warn("The seed was not used: the store already holds an account.");
      if (found && settings.clock === "system") await this.#goOn();
      return found ?? (await this.#sow(settings.apiKey));
    });
  }

  /** Back to the seed, on the same port and with the same start-up key. */
  reset(): Promise<void> {
    return this.#become(() => {
      this.parts.clock.rewind();
      return this.#sow(this.apiKey);
    });
  }

  /** To a snapshot, of this service or another, and its time. Where the start-up key is not in it, it is added. */
  async restore(snapshot: StoreData | Promise<StoreData>): Promise<void> {
    const { unit, clock } = this.parts;
    const data = checkedSnapshot(await snapshot);
    await this.#become(async () => {
      await this.#replace(data);
      const at = String((await unit.store.get(clockRecords, "now"))?.at);
      if (isDateTime(at)) clock.set(instant(at));
      return (await this.#takeUp(this.apiKey)) ?? this;
    });
  }

  /** With a new sign-in link, for the account's first admin; for its first user where a seed names no admin. */
  #become(change: () => Promise<Start>): Promise<void> {
    const { workers, unit, links } = this.parts;
    return this.turns.run(async () => {
      await workers.stop();
      try {
        const { account, apiKey } = await change();
        const user = await new Unit(unit).transact(async (w) => {
          const [admin] = await w.tx.page(users, "account_admin", [account.id, true], FIRST);
          const [first] = await w.tx.page(users, "account", [account.id], FIRST);
          const user = admin ?? first;
          return user && { signsIn: user.email, signInUrl: links.signIn(await newSignIn(w, user.id)) };
        });
        Object.assign(this, { account, apiKey }, user);
      } finally {
        await workers.start();
      }
    });
  }

  /** Where the system's clock was set back, time goes on from the last event: new ids come last, and retries in time. */
  async #goOn(): Promise<void> {
    const { unit, clock } = this.parts;
    for (const { id } of await unit.store.page(accounts, "all", ["accounts"], ALL)) {
      const count = await unit.store.count(events, "account", [id]);
      const [last] = await unit.store.page(events, "account", [id], { offset: Math.max(count - 1, 0), limit: 1 });
      if (last !== undefined) clock.set(Math.max(instant(last.created), clock.now()));
    }
  }

  async #replace(data: StoreData): Promise<void> {
    const { unit, limiter, journals, faults, chaos } = this.parts;
    await unit.store.restore(data);
    for (const each of [limiter, journals, faults, chaos]) each.clear();
  }

  /** From here on a service of the same random seed makes the same ids, however often it is reset. */
  async #sow(apiKey: string | null): Promise<Start> {
    const { ids, settings } = this.parts;
    this.#seed ??= planted(this.parts, apiKey);
    const { start, data, mark } = await this.#seed;
    await this.#replace(data);
    if (settings.randomSeed !== null) ids.restart(mark, seededRandom(`${settings.randomSeed}, after the start`));
    return start;
  }

  /** The account that the start-up key opens, or else the first one, which a key opens from now on; none in a fresh store. */
  async #takeUp(apiKey: string | null): Promise<Start | undefined> {
    const unit = new Unit(this.parts.unit);
    const { store } = unit;
    const key = apiKey === null ? undefined : await keyOf(store, apiKey);
    const [first] = await store.page(accounts, "all", ["accounts"], FIRST);
    const account = key ? await store.get(accounts, key.account_id) : first;
    if (!account || key || (apiKey === null && !this.parts.watched)) return account && { account, apiKey };
    const draft = { name: FIRST_KEY, key: apiKey ?? undefined };
    const added = await unit.transact((w) => addApiKey(w, account.id, draft));
    return { account, apiKey: added.key };
  }
}

/** In a store of its own: no reader ever sees half of the seed, or its data before they are processed. */
async function planted({ settings, webhookDraft, unit, ids }: ServiceParts, apiKey: string | null) {
  const given = settings.seed && fitting(seedSchema(webhookDraft), settings.seed, "The seed is wrong");
  const store = memoryStore();
  await store.open(collections);
  const aside = new Unit({ ...unit, store });
  const made = await plant(aside, given ?? DEFAULT_SEED, apiKey ?? undefined);
  if (made instanceof Refusal) throw new OptionError(`The seed is wrong: ${explain(made).detail}`);
  for (const id of await unprocessed(store)) await processDataSource(aside, id);
  const start = { account: made.account, apiKey: made.key };
  return { start, data: await store.snapshot(), mark: ids.mark() };
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
