// What a store needs of a declared collection (domain/store.ts), worked out once: which key a record has in each index
// and unique rule. A key of one field is the value itself, so that 1 and "1" differ; of several fields it is a text
// in which ["a", "b,c"] and ["a,b", "c"] differ too. Null in any field means: not in this list.
import type { AnyCollection, Scalar, Stored } from "../domain/store.ts";

/** So many first fields of pairs, and of each so many second ones, are remembered with their keys. */
const RECENT_MAX = 64;

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
  /** Its number among the indexes of its collection. */
  readonly at: number;
  /** Whether a field orders the list before creation does. */
  readonly ordered: boolean;
  /** The text that the list is ordered by before creation order; the same for all where no field is named. */
  orderOf(record: Fields): string;
}

export interface UniqueRule extends KeyRule {
  /** Its number among the unique keys of its collection. */
  readonly at: number;
  readonly name: string;
}

export interface TableRule {
  /** Its number among the collections. What belongs to a rule stands in an array under its number. */
  readonly at: number;
  readonly name: string;
  readonly lists: ReadonlyMap<string, ListRule>;
  readonly uniques: ReadonlyMap<string, UniqueRule>;
  /** The same by number. */
  readonly listRules: readonly ListRule[];
  readonly uniqueRules: readonly UniqueRule[];
}

/** The rules of all collections, by name. Made once: the rules themselves are what lists are known by. */
export type Rules = ReadonlyMap<string, TableRule>;

export function rulesOf(collections: readonly AnyCollection[]): Rules {
  const rules = known.get(collections) ?? new Map(collections.map((each, at) => [each.name, tableRule(each, at)]));
  known.set(collections, rules);
  return rules;
}

const known = new WeakMap<readonly AnyCollection[], Rules>();

function tableRule(from: AnyCollection, at: number): TableRule {
  const lists = new Map(
    Object.entries(from.indexes).map(([name, { by, order }], at) => [name, listRule(at, by, order)] as const),
  );
  const uniques = new Map(
    Object.entries(from.unique).map(([name, fields], at) => [name, { ...keyRule(fields), at, name }] as const),
  );
  const byNumber = { listRules: [...lists.values()], uniqueRules: [...uniques.values()] };
  return { at, name: from.name, lists, uniques, ...byNumber };
}

function listRule(at: number, by: readonly string[], order: string | undefined): ListRule {
  const rule = keyRule(by);
  if (order === undefined) return { ...rule, at, ordered: false, orderOf: () => "" };
  return {
    ...rule,
    at,
    ordered: true,
    keyOf: (record) => (isNothing(record[order]) ? undefined : rule.keyOf(record)),
    orderOf(record) {
      const value = record[order];
      return typeof value === "string" ? value : String(value);
    },
  };
}

function keyRule(fields: readonly string[]): KeyRule {
  const [only = ""] = fields;
  if (fields.length === 1)
    return {
      keyOf: (record) => scalarKey(record[only]),
      keyFor: (values) => scalarKey(values[0]),
      valuesOf: (key) => [key],
    };
  if (fields.length === 2) return pairRule(fields);
  return {
    keyOf: (record) => joined(fields.map((field) => record[field])),
    keyFor: joined,
    valuesOf: separated,
  };
}

/**
 * Two fields are the usual case, and most of what is written and asked is of few pairs: an account's next event. Their
 * keys are kept, since a new text has to be put together and hashed each time (a tenth of the time of loading).
 */
function pairRule([first = "", second = ""]: readonly string[]): KeyRule {
  const recent = new Map<unknown, Map<unknown, Key>>();
  const keyOf = (a: unknown, b: unknown): Key | undefined => recent.get(a)?.get(b) ?? keep(recent, a, b);
  return {
    keyOf: (record) => keyOf(record[first], record[second]),
    keyFor: (values) => keyOf(values[0], values[1]),
    valuesOf: separated,
  };
}

function keep(recent: Map<unknown, Map<unknown, Key>>, a: unknown, b: unknown): Key | undefined {
  const key = joined([a, b]);
  if (key === undefined) return undefined;
  if (recent.size >= RECENT_MAX) recent.clear();
  const ofFirst = recent.get(a) ?? new Map<unknown, Key>();
  if (ofFirst.size >= RECENT_MAX) ofFirst.clear();
  recent.set(a, ofFirst.set(b, key));
  return key;
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
