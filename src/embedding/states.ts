// The states that a service can be brought back to (contract, part 10): the seed it was planted with, and any snapshot:
// everything the store keeps as plain JSON, in the form of the store's own file, with the service's time as a record among
// the others. Whatever the way, the same is done: what runs behind the answers ends, everything kept is replaced in one
// step, and all that was only counted or remembered begins anew. Requests under way are their sender's to wait for.
import { type Access, keyOf } from "../domain/access.ts";
import { collections } from "../domain/collections.ts";
import { processDataSource, unprocessed } from "../domain/data-sources.ts";
import type { RateLimiter } from "../domain/limits.ts";
import { accounts, clockRecords } from "../domain/model.ts";
import type { StoreData, Stored } from "../domain/store.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import { type AdjustableClock, instant, isDateTime, iso } from "../kit/clock.ts";
import { type IdMark, seededRandom, type TimeOrderedIds } from "../kit/ids.ts";
import { trusted } from "../kit/schema.ts";
import { OptionError } from "../options.ts";
import { begin, ensureKey, ownersSignIn, plantSeed, type SignInLink, type Start, type StartRules } from "../start.ts";
import { memoryStore } from "../store/memory.ts";
import type { Workers } from "../workers.ts";

export interface StateParts {
  readonly unit: UnitParts;
  readonly clock: AdjustableClock;
  readonly ids: TimeOrderedIds;
  readonly access: Access;
  readonly limiter: RateLimiter;
  readonly workers: Workers;
  readonly rules: StartRules;
  readonly randomSeed: string | null;
  /** Whether somebody may ask for a reset: then the seed is kept. */
  readonly resettable: boolean;
  /** Forgets what tests have asked for and what was noted. */
  readonly forget: () => void;
}

/** What the service is known by once it stands. */
export type Standing = Start & SignInLink;

export class States {
  readonly #parts: StateParts;
  #seed: { readonly start: Start; readonly data: StoreData } | undefined;
  #mark: IdMark | undefined;

  constructor(parts: StateParts) {
    this.#parts = parts;
  }

  /** Plants a fresh store or resumes an existing one. What a seed brings is processed before anybody sees it. */
  async open(): Promise<Start> {
    const { unit, rules, resettable, ids } = this.#parts;
    const { fresh, ...start } = await begin(unit, rules);
    if (resettable && fresh) this.#seed = { start, data: await processed(unit) };
    this.#mark = ids.mark();
    return start;
  }

  /** From here on a service of the same random seed makes the same ids, however often it is reset. */
  async begin(start: Start): Promise<Standing> {
    const { ids, randomSeed, unit } = this.#parts;
    if (randomSeed !== null && this.#mark) ids.restart(this.#mark, seededRandom(`${randomSeed}, after the start`));
    return { ...start, ...(await ownersSignIn(new Unit(unit), start.account)) };
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
      this.#seed ??= await this.#plantAside(apiKey);
      await this.#replace(this.#seed.data);
      return this.begin(this.#seed.start);
    });
  }

  /** To a snapshot and its time. Where the start-up key is not in it, it is added: it always opens the service. */
  restore(snapshot: unknown, { signInToken, signsIn, apiKey }: Standing): Promise<Standing> {
    const data = checkedSnapshot(snapshot);
    return this.#betweenWork(async () => {
      const { unit, clock } = this.#parts;
      await this.#replace(data);
      const [record] = trusted<readonly { readonly at?: unknown }[]>(data.collections[clockRecords.name] ?? []);
      const at = String(record?.at);
      if (isDateTime(at)) clock.set(instant(at));
      return { ...(await known(new Unit(unit), apiKey)), signInToken, signsIn };
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

  /** Over data that was there before, the seed is planted in a store of its own: no reader ever sees half of it. */
  async #plantAside(apiKey: string | null) {
    const store = memoryStore();
    await store.open(collections);
    const parts = { ...this.#parts.unit, store };
    const start = await plantSeed(parts, { ...this.#parts.rules, apiKey });
    return { start, data: await processed(parts) };
  }

  async #replace(data: StoreData): Promise<void> {
    const { unit, access, limiter, forget } = this.#parts;
    await access.settled();
    await unit.store.restore(data);
    limiter.reset();
    forget();
  }
}

/** Everything that is kept, once the data sources are processed. */
async function processed(parts: UnitParts): Promise<StoreData> {
  for (const id of await unprocessed(parts.store)) await processDataSource(new Unit(parts), id);
  return parts.store.snapshot();
}

/** The account that the start-up key opens, or else the first one, which it opens from now on. */
async function known(unit: Unit, apiKey: string | null): Promise<Start> {
  const key = apiKey === null ? undefined : await keyOf(unit.store, apiKey);
  const owner = key && (await unit.store.get(accounts, key.account_id));
  if (owner) return { account: owner, apiKey };
  const [first] = await unit.store.page(accounts, "all", ["accounts"], { offset: 0, limit: 1 });
  if (first === undefined) throw new OptionError("The snapshot holds no account");
  return { account: first, apiKey: await ensureKey(unit, first, apiKey) };
}

/** What somebody hands back as a snapshot. Whether its records are what they were is not asked. */
function checkedSnapshot(value: unknown): StoreData {
  const wrong = (says: string) => new OptionError(`The snapshot${says}`);
  if (!isMembers(value)) throw wrong(" must be an object");
  const { format, collections } = value;
  if (format !== 1) throw wrong(`'s format must be 1; it is ${JSON.stringify(format)}`);
  if (!isMembers(collections)) throw wrong("'s collections must be an object");
  for (const [name, records] of Object.entries(collections)) {
    if (!Array.isArray(records) || !records.every(isRecord))
      throw wrong(`'s ${name} must be an array of records with an id`);
    if (new Set(records.map(({ id }) => id)).size < records.length) throw wrong(`'s ${name} have an id twice`);
  }
  const checked = trusted<StoreData["collections"]>(collections);
  if (!checked[accounts.name]?.length) throw wrong(" holds no account");
  return { format, collections: checked };
}

const isMembers = (value: unknown): value is { readonly [member: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isRecord = (record: unknown): record is Stored => isMembers(record) && typeof record.id === "string";
