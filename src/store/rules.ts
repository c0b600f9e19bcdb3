// What a store needs of a declared collection (domain/store.ts), worked out once: which key a record has in each index
// and unique rule. A key of one field is the value itself, so that 1 and "1" differ; of several fields it is a text
// in which ["a", "b,c"] and ["a,b", "c"] differ too. Null in any field means: not in this list.
import type { AnyCollection, Scalar, Stored } from "../domain/store.ts";
import { onceFor } from "../kit/later.ts";

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

/** The rules of all collections, by name. Made once: the rules themselves are what lists are known by. */
export type Rules = ReadonlyMap<string, TableRule>;

export const rulesOf = onceFor(
  (collections: readonly AnyCollection[]): Rules =>
    new Map(collections.map((collection) => [collection.name, tableRule(collection)])),
);

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
  if (fields.length === 2) return pairRule(fields);
  return {
    keyOf: (record) => joined(fields.map((field) => record[field])),
    keyFor: joined,
    valuesOf: separated,
  };
}

/** Two fields are the usual case, and what is written was mostly written just before: an account's next event. */
function pairRule([first = "", second = ""]: readonly string[]): KeyRule {
  let lastFirst: unknown;
  let lastSecond: unknown;
  let last: Key | undefined;
  const keyOf = (a: unknown, b: unknown): Key | undefined => {
    if (a === lastFirst && b === lastSecond) return last;
    lastFirst = a;
    lastSecond = b;
    last = joined([a, b]);
    return last;
  };
  return {
    keyOf: (record) => keyOf(record[first], record[second]),
    keyFor: ([a, b]) => keyOf(a, b),
    valuesOf: separated,
  };
}

function scalarKey(value: unknown): Key | undefined {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return undefined;
}

const isNothing = (value: unknown): boolean => value === null || value === undefined;

/** One text for several values, each marked with its kind, strings with their length: no two lists give the same. */
function joined(values: readonly unknown[]): string | undefined {
  let text = "";
  for (const given of values) {
    const value = scalarKey(given);
    if (value === undefined) return undefined;
    if (typeof value === "string") text += `${value.length}:${value}`;
    else text += typeof value === "number" ? `#${value}` : `!${value}`;
  }
  return text;
}

/** The values that `joined` made the key of. */
function separated(key: Key): readonly Scalar[] {
  const part = /(\d+):|#([-+.\de]+)|!(true|false)/y;
  const values: Scalar[] = [];
  for (let found = part.exec(String(key)); found !== null; found = part.exec(String(key))) {
    const [, length, number, flag] = found;
    if (length === undefined) values.push(number === undefined ? flag === "true" : Number(number));
    else {
      values.push(String(key).slice(part.lastIndex, part.lastIndex + Number(length)));
      part.lastIndex += Number(length);
    }
  }
  return values;
}
