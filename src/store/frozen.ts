// The records as they stood at one moment, for whoever writes them down while changes go on. Only the rows are copied at
// that moment (4 ms a million; with their records it would be 40): what a row held before it is given another record is
// remembered here.
import type { Fields } from "./rules.ts";
import type { Row } from "./sorted-rows.ts";

/** Records of a collection in creation order, asked for one by one. */
export interface Records {
  readonly length: number;
  at(n: number): unknown;
}

export class Frozen {
  readonly lists: readonly (readonly [name: string, records: Records])[];
  readonly #before = new Map<Row, Fields>();

  constructor(tables: Iterable<readonly [name: string, rows: Iterable<Row>]>) {
    this.lists = Array.from(tables, ([name, rows]) => [name, this.#records([...rows])]);
  }

  /** To be called before a row is given another record. */
  keep(row: Row): void {
    if (!this.#before.has(row)) this.#before.set(row, row.record);
  }

  #records(rows: readonly Row[]): Records {
    const at = (n: number) => {
      const row = rows[n];
      return row && (this.#before.get(row) ?? row.record);
    };
    return { length: rows.length, at };
  }
}
