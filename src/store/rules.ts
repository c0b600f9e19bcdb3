// What a store needs of a declared collection (domain/store.ts), worked out once: which key a record has in each index
// and unique rule. A key of one field is the value itself, so that 1 and "1" differ; of several fields it is their JSON
// text, so that ["a", "b,c"] and ["a,b", "c"] differ. Null in any field means: not in this list.
import type { AnyCollection, Scalar, Stored } from "../domain/store.ts";

/** A record as the store sees it: a JSON object with fields it may look at by name. */
export interface Fields extends Stored {
  readonly [field: string]: unknown;
}

export type Key = string | number | boolean;

export interface KeyRule {
  /** Undefined when the record is left out. */
  keyOf(record: Fields): Key | undefined;
  keyFor(values: readonly unknown[]): Key | undefined;
  valuesOf(key: Key): readonly Scalar[];
}

export interface ListRule extends KeyRule {
  /** The text that the list is ordered by before creation order; the same for all where no field is named. */
  orderOf(record: Fields): string;
}

export interface TableRule {
  readonly name: string;
  readonly lists: ReadonlyMap<string, ListRule>;
  readonly uniques: ReadonlyMap<string, KeyRule>;
}

/** The rules of all collections, by name. Made once a store: the rules themselves are what lists are known by. */
export type Rules = ReadonlyMap<string, TableRule>;

export const rulesOf = (collections: readonly AnyCollection[]): Rules =>
  new Map(collections.map((collection) => [collection.name, tableRule(collection)]));

function tableRule(from: AnyCollection): TableRule {
  const lists = Object.entries(from.indexes).map(([name, { by, order }]) => [name, listRule(by, order)] as const);
  const uniques = Object.entries(from.unique).map(([name, fields]) => [name, keyRule(fields)] as const);
  return { name: from.name, lists: new Map(lists), uniques: new Map(uniques) };
}

function listRule(by: readonly string[], order: string | undefined): ListRule {
  const rule = keyRule(by);
  if (order === undefined) return { ...rule, orderOf: () => "" };
  return {
    ...rule,
    keyOf: (record) => (isNothing(record[order]) ? undefined : rule.keyOf(record)),
    orderOf: (record) => String(record[order]),
  };
}

function keyRule(fields: readonly string[]): KeyRule {
  const [only = ""] = fields;
  if (fields.length === 1)
    return {
      keyOf: (record) => scalarKey(record[only]),
      keyFor: ([value]) => scalarKey(value),
      valuesOf: (key) => [key],
    };
  const keyFor = (values: readonly unknown[]) => (values.some(isNothing) ? undefined : JSON.stringify(values));
  return {
    keyFor,
    keyOf: (record) => keyFor(fields.map((field) => record[field])),
    valuesOf: (key) => JSON.parse(String(key)),
  };
}

const isNothing = (value: unknown): boolean => value === null || value === undefined;

function scalarKey(value: unknown): Key | undefined {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return undefined;
}
