// Template of a custom store: copy it and replace the Maps with your database. Start with `--store ./skeleton.mjs`, or
// pass the store to startService as `store`. The package's types (Store, Reader, Tx) document every method, and
// `npm run store-contract -- ./skeleton.mjs` tests them. It runs one unit of work after the other, each on a copy of
// everything. On a database, a collection is a table with the id, the record as text, a sequence for creation order, and
// a column for each index and unique key; `transact` is a serializable transaction.
import { AsyncLocalStorage } from "node:async_hooks";

const copy = (value) => JSON.parse(JSON.stringify(value));
const compare = (a, b) => (a < b ? -1 : Number(a > b));

export default function createStore() {
  const current = new AsyncLocalStorage();
  let collections;
  /** A Map of records by id for each collection, in creation order. */
  let tables;
  let last = Promise.resolve();

  const getTables = () => {
    if (!tables || current.getStore()?.isOpen)
      throw new Error("The store is not open, or was called inside a unit of work");
    return tables;
  };

  const createReader = (getAll) => {
    const getTable = ({ name }) => {
      if (!getAll().has(name)) throw new Error(`${name} was not declared`);
      return getAll().get(name);
    };
    /** Leaves out records with null in one of the fields. */
    const select = (from, fields, values) =>
      [...getTable(from).values()].filter((record) =>
        fields.every((field, n) => (record[field] ?? NaN) === values[n]),
      );
    const list = (from, index, values) => {
      const { by, order = [] } = from.indexes[index];
      const fields = [order].flat();
      return select(from, by, values)
        .filter((record) => fields.every((field) => record[field] !== null))
        .sort((a, b) => fields.map((field) => compare(a[field], b[field])).find(Boolean) ?? 0);
    };
    return {
      getTable,
      select,
      get: async (from, id) => getTable(from).get(id),
      find: async (from, unique, values) => select(from, from.unique[unique], values)[0],
      page: async (from, index, values, { offset, limit }) =>
        list(from, index, values).slice(offset, offset + limit),
      count: async (from, index, values) => list(from, index, values).length,
    };
  };

  /** Runs one `work` at a time. */
  const exclusive = async (work) => {
    getTables();
    const run = last.then(() => work());
    last = run.catch(() => {});
    return run;
  };

  const execute = async (work) => {
    const state = { isOpen: true };
    const changed = new Map([...tables].map(([name, table]) => [name, new Map(table)]));
    const { getTable, select, ...reader } = createReader(() => {
      if (!state.isOpen) throw new Error("This unit of work has ended");
      return changed;
    });
    let violation;
    const put = async (into, record) => {
      for (const fields of Object.values(into.unique)) {
        const values = fields.map((field) => record[field]);
        if (select(into, fields, values).some(({ id }) => id !== record.id))
          violation = Object.assign(new Error(record.id), { name: "UniqueViolation" });
      }
      if (violation) throw violation;
      getTable(into).set(record.id, record);
    };
    const remove = async (from, id) => void getTable(from).delete(id);
    try {
      const value = await current.run(state, () => work({ ...reader, put, remove }));
      if (violation) throw violation;
      tables = changed;
      return value;
    } finally {
      state.isOpen = false;
    }
  };

  const load = (data) => {
    const createTable = ({ name }) => [
      name,
      new Map(copy(data[name] ?? []).map((record) => [record.id, record])),
    ];
    tables = new Map(collections.map(createTable));
  };

  return {
    ...createReader(getTables),
    async open(declared) {
      if (collections) throw new Error("A store can be opened only once");
      collections = declared;
      load({});
    },
    transact: (work) => exclusive(() => execute(work)),
    snapshot: () =>
      exclusive(async () => {
        const lists = [...tables].map(([name, table]) => [name, [...table.values()]]);
        return { format: 2, collections: copy(Object.fromEntries(lists)) };
      }),
    restore: (data) => exclusive(async () => load(data.collections)),
    async close() {
      await last;
      tables = undefined;
      collections ??= [];
    },
  };
}
