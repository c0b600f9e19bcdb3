// Snapshots (contract, part 10): everything the store keeps as plain JSON, in the form of the store's own file, so that one
// written to a file opens with `data`. The service's time is a record among the others.
import { accounts, clockRecords } from "../domain/model.ts";
import type { Store, StoreData, Stored } from "../domain/store.ts";
import { type Clock, type Instant, instant, isDateTime, iso } from "../kit/clock.ts";
import { trusted } from "../kit/schema.ts";
import { OptionError } from "../options.ts";

export async function takeSnapshot(store: Store, clock: Clock): Promise<StoreData> {
  const { format, collections } = await store.snapshot();
  const now = [{ id: "now", at: iso(clock.now()) }];
  return { format, collections: { ...collections, [clockRecords.name]: now } };
}

/** The time at which the snapshot was taken; undefined for a file of a store, which has none. */
export function timeOf({ collections }: StoreData): Instant | undefined {
  const [record] = collections[clockRecords.name] ?? [];
  return record && "at" in record && typeof record.at === "string" && isDateTime(record.at)
    ? instant(record.at)
    : undefined;
}

/** What somebody hands back as a snapshot. Whether its records are what they were is not asked. */
export function checkedSnapshot(value: unknown): StoreData {
  if (!isMembers(value)) throw new OptionError("The snapshot must be an object");
  const { format, collections } = value;
  if (format !== 1) throw new OptionError(`The snapshot's format must be 1; it is ${JSON.stringify(format)}`);
  if (!isMembers(collections)) throw new OptionError("The snapshot's collections must be an object");
  for (const [name, records] of Object.entries(collections)) refuseBadRecords(name, records);
  const owners = collections[accounts.name];
  if (!Array.isArray(owners) || owners.length === 0) throw new OptionError("The snapshot holds no account");
  return { format, collections: trusted<StoreData["collections"]>(collections) };
}

function refuseBadRecords(name: string, records: unknown): void {
  const isRecord = (record: unknown): record is Stored => isMembers(record) && typeof record.id === "string";
  if (!Array.isArray(records) || !records.every(isRecord))
    throw new OptionError(`The snapshot's ${name} must be an array of records with an id`);
  if (new Set(records.map(({ id }) => id)).size < records.length)
    throw new OptionError(`The snapshot's ${name} have an id twice`);
}

const isMembers = (value: unknown): value is { readonly [member: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
