// Between tables and StoreData, the plain JSON of a snapshot. What goes out and what comes in is copied, so that a
// snapshot stays what it was and a restored one cannot be changed from outside.
import { type StoreData, StoreRefusal } from "../domain/store.ts";
import { trusted } from "../kit/schema.ts";
import type { Fields, Rules } from "./rules.ts";
import { Tables } from "./tables.ts";

export function dataOf(rules: Rules, tables: Tables): StoreData {
  const lists = Array.from(rules.values(), (rule) => {
    const records = Array.from(tables.rows(rule), (row) => row.record);
    return [rule.name, records] as const;
  });
  return { format: 1, collections: structuredClone(Object.fromEntries(lists)) };
}

/** New tables that hold the data. A collection that is not declared would be lost without a word: it is refused. */
export function tablesOf(rules: Rules, data: StoreData): Tables {
  const tables = new Tables(rules);
  for (const [name, records] of Object.entries(structuredClone(data.collections))) {
    const rule = rules.get(name);
    if (rule === undefined)
      throw new StoreRefusal(`The data has a collection "${name}" that this version does not know`);
    // StoreData is what `dataOf` made: JSON objects with an id.
    for (const record of records) tables.put(rule, trusted<Fields>(record));
  }
  return tables;
}
