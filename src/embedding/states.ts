// The states that a service stands in (contract, parts 1 and 10): what its seed plants in a fresh store, what an existing
// one holds, and any snapshot: everything the store keeps as plain JSON, in the form of the store's own file, with the
// service's time as a record among the others. Back to one of them, what runs behind the answers ends, everything kept is
// replaced in one step, and all that was only counted or remembered begins anew. Requests under way are their sender's to
// wait for.
import { type Access, keyOf } from "../domain/access.ts";
import { collections } from "../domain/collections.ts";
import { addApiKey } from "../domain/credentials.ts";
import { processDataSource, unprocessed } from "../domain/data-sources.ts";
import type { RateLimiter } from "../domain/limits.ts";
import { type AccountRecord, accounts, clockRecords, users } from "../domain/model.ts";
import { Refusal } from "../domain/refusal.ts";
import { DEFAULT_SEED, FIRST_KEY, plant, seedSchema } from "../domain/seed.ts";
import type { StoreData } from "../domain/store.ts";
import { newSignIn } from "../domain/users.ts";
import type { webhookDraft } from "../domain/webhooks.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import { type AdjustableClock, instant, isDateTime, iso } from "../kit/clock.ts";
import { type IdMark, seededRandom, type TimeOrderedIds } from "../kit/ids.ts";
import type { Log } from "../kit/log.ts";
import { trusted } from "../kit/schema.ts";
import { fitting, OptionError, type Settings } from "../options.ts";
import { memoryStore } from "../store/memory.ts";
import type { Workers } from "../workers.ts";

export interface StateParts {
  readonly settings: Settings;
  readonly unit: UnitParts;
  readonly clock: AdjustableClock;
  readonly ids: TimeOrderedIds;
  readonly access: Access;
  readonly limiter: RateLimiter;
  readonly workers: Workers;
  readonly webhookDraft: ReturnType<typeof webhookDraft>;
  readonly log: Log;
  /** Somebody holds the service in their hands: they need a key that opens it, and may ask for a reset. */
  readonly watched: boolean;
  /** Forgets what tests have asked for and what was noted. */
  readonly forget: () => void;
}

interface Start {
  readonly account: AccountRecord;
  /** In clear; null where the store holds only its hash. */
  readonly apiKey: string | null;
}

/** What the service is known by once it stands. `signsIn` is the e-mail address of whom the link is for. */
export interface Standing extends Start {
  readonly signInToken: string;
  readonly signsIn: string;
}

const FIRST = { offset: 0, limit: 1 };

export class States {
  readonly #parts: StateParts;
  #seeded: { readonly start: Start; readonly data: StoreData } | undefined;
  #mark: IdMark | undefined;

  constructor(parts: StateParts) {
    this.#parts = parts;
  }

  /** Takes up what the store holds; plants the seed where it is fresh. What it brings is processed before anybody sees it. */
  async open(): Promise<Standing> {
    const { settings, unit, log, watched, ids } = this.#parts;
    const found = await this.#takeUp(settings.apiKey);
    if (found && settings.seed) log.warn("The seed was not used: the store already holds an account.");
    const start = found ?? (await this.#plant(unit, settings.apiKey));
    if (watched && !found) this.#seeded = { start, data: await unit.store.snapshot() };
    this.#mark = ids.mark();
    return this.#stand(start);
  }

  async snapshot(): Promise<StoreData> {
    const { unit, clock } = this.#parts;
    const { format, collections } = await unit.store.snapshot();
    const now = [{ id: "now", at: iso(clock.now()) }];
    return { format, collections: { ...collections, [clockRecords.name]: now } };
  }

  /** Back to the seed, with the start-up key that there is. */
  reset(apiKey: string | null): Promise<Standing> {
    return this.#betweenWork(async () => {
      this.#parts.clock.rewind();
      this.#seeded ??= await this.#plantAside(apiKey);
      await this.#replace(this.#seeded.data);
      return this.#stand(this.#seeded.start);
    });
  }

  /** To a snapshot and its time. Where the start-up key is not in it, it is added: it always opens the service. */
  restore(snapshot: unknown, standing: Standing): Promise<Standing> {
    const data = checkedSnapshot(snapshot);
    return this.#betweenWork(async () => {
      await this.#replace(data);
      const [record] = trusted<readonly { readonly at?: unknown }[]>(data.collections[clockRecords.name] ?? []);
      const at = String(record?.at);
      if (isDateTime(at)) this.#parts.clock.set(instant(at));
      return { ...standing, ...(await this.#takeUp(standing.apiKey)) };
    });
  }

  async #betweenWork(change: () => Promise<Standing>): Promise<Standing> {
    const { workers } = this.#parts;
    await workers.stop();
    try {
      return await change();
    } finally {
      await workers.start();
    }
  }

  async #replace(data: StoreData): Promise<void> {
    const { unit, access, limiter, forget } = this.#parts;
    await access.settled();
    await unit.store.restore(data);
    limiter.reset();
    forget();
  }

  async #plant(parts: UnitParts, apiKey: string | null): Promise<Start> {
    const { settings, webhookDraft } = this.#parts;
    const given = settings.seed && fitting(seedSchema(webhookDraft), settings.seed, "The seed is wrong");
    const planted = await plant(new Unit(parts), given ?? DEFAULT_SEED, apiKey ?? undefined);
    if (planted instanceof Refusal) throw new OptionError(`The seed is wrong: ${faultOf(planted)}`);
    for (const id of await unprocessed(parts.store)) await processDataSource(new Unit(parts), id);
    return { account: planted.account, apiKey: planted.key };
  }

  /** Over data that was there before, the seed is planted in a store of its own: no reader ever sees half of it. */
  async #plantAside(apiKey: string | null) {
    const store = memoryStore();
    await store.open(collections);
    const start = await this.#plant({ ...this.#parts.unit, store }, apiKey);
    return { start, data: await store.snapshot() };
  }

  /** The account that the start-up key opens, or else the first one, which a key opens from now on; none in a fresh store. */
  async #takeUp(apiKey: string | null): Promise<Start | undefined> {
    const unit = new Unit(this.#parts.unit);
    const { store } = unit;
    const key = apiKey === null ? undefined : await keyOf(store, apiKey);
    const owner = key && (await store.get(accounts, key.account_id));
    if (owner) return { account: owner, apiKey };
    const [account] = await store.page(accounts, "all", ["accounts"], FIRST);
    if (!account || (apiKey === null && !this.#parts.watched)) return account && { account, apiKey };
    const draft = { name: FIRST_KEY, key: apiKey ?? undefined };
    const added = await unit.transact((w) => addApiKey(w, account.id, draft));
    return { account, apiKey: added.key };
  }

  /** From here on a service of the same random seed makes the same ids, however often it is reset. The link is a new one. */
  async #stand(start: Start): Promise<Standing> {
    const { ids, unit, settings } = this.#parts;
    const { randomSeed } = settings;
    if (randomSeed !== null && this.#mark) ids.restart(this.#mark, seededRandom(`${randomSeed}, after the start`));
    return { ...start, ...(await ownersSignIn(new Unit(unit), start.account)) };
  }
}

/** A new sign-in link for the account's first admin; its first user where a seed names no admin. */
const ownersSignIn = (unit: Unit, { id }: AccountRecord) =>
  unit.transact(async (w) => {
    const [admin] = await w.tx.page(users, "account_admin", [id, true], FIRST);
    const [user] = admin ? [admin] : await w.tx.page(users, "account", [id], FIRST);
    return { signInToken: user ? await newSignIn(w, user.id) : "", signsIn: user?.email ?? "" };
  });

function faultOf({ reason }: Refusal): string {
  const [first] = "errors" in reason ? (reason.errors ?? []) : [];
  return first ? `${first.pointer} ${first.detail}` : reason.code;
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
