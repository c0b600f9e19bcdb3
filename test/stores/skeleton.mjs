// Template of a custom store: copy it and replace the Map with your database. Start with `--store ./skeleton.mjs` (a
// file or an installed package), or pass the store to startService as `store`. The package's types (Store, Reader, Tx)
// document every method, and `storeContract(test, makeStore)` tests them. This skeleton passes all of it in the
// simplest way: it runs one unit of work after the other, each on a copy of everything.
//
// On a database, a collection is a table with the id, the record as text, a sequence for creation order, and a column
// for each field of `indexes` and `unique`. `transact` is a serializable transaction, retried when the database
// requires it. `publish` reaches all processes with the commit. A lease is a row or a lock that expires by the
// database's clock, and when its holder ends. If several processes share the data, implement `now`, the database's time
// in milliseconds. The service then looks every few seconds for work left behind by other processes, and shares rate
// limits with them.
import { AsyncLocalStorage } from "node:async_hooks";

/** Errors are distinguished by name: StoreOpenError, StorageUnavailable, UniqueViolation. */
const fault = (name, message) => Object.assign(new Error(message), { name });
const copy = (value) => JSON.parse(JSON.stringify(value));

export default function makeStore() {
  /** A Map of records by id for each collection, in creation order, which a Map keeps. */
  let tables;
  let collections;
  let last = Promise.resolve();
  const [subscribers, leases, running] = [new Set(), new Map(), new AsyncLocalStorage()];

  const opened = () => {
    if (!tables || running.getStore()?.isOver === false)
      throw new Error("Not open, or asked from inside a unit of work");
    return tables;
  };

  /** The queries, run on the tables that `at` returns: the store's, or those of a unit of work. */
  const reader = (at) => {
    const table = ({ name }) => at().get(name) ?? missing(name);
    /** Leaves out records with null in one of the fields. */
    const list = (from, by, values) =>
      [...table(from).values()].filter((record) =>
        by.every((field, n) => (record[field] ?? NaN) === values[n]),
      );
    const inOrder = (from, index, values) => {
      const { by, order } = from.indexes[index];
      const all = list(from, by, values);
      if (order === undefined) return all;
      return all
        .filter((each) => each[order] !== null)
        .sort((a, b) => (a[order] < b[order] ? -1 : +(a[order] > b[order])));
    };
    return {
      get: async (from, id) => table(from).get(id),
      find: async (from, unique, values) => list(from, from.unique[unique], values)[0],
      page: async (from, index, values, { offset, limit }) =>
        inOrder(from, index, values).slice(offset, offset + limit),
      count: async (from, index, values) => inOrder(from, index, values).length,
    };
  };

  /** Runs one `work` at a time and replaces the tables with its result, unless it fails. */
  const inTurn = (work) => {
    const run = last.then(() => work(opened()));
    last = run.catch(() => {});
    return run;
  };

  async function transact(work) {
    opened();
    return inTurn(async (before) => {
      const life = { isOver: false };
      const own = new Map([...before].map(([name, table]) => [name, new Map(table)]));
      const told = new Map();
      let held;
      const at = () => (life.isOver ? missing("Its unit of work is over, and this") : own);
      const tx = {
        ...reader(at),
        async put(into, record) {
          const table = at().get(into.name) ?? missing(into.name);
          const clashes = (by) =>
            [...table.values()].some(
              (other) => other.id !== record.id && by.every((f) => (other[f] ?? NaN) === record[f]),
            );
          if (Object.values(into.unique).some(clashes))
            held = fault("UniqueViolation", `${into.name} ${record.id}`);
          if (held) throw held;
          table.set(record.id, record);
        },
        remove: async (from, id) => void (at().get(from.name) ?? missing(from.name)).delete(id),
        publish: (topic, subject) =>
          void (at() && told.set(JSON.stringify([topic, subject]), [topic, subject])),
      };
      try {
        const value = await running.run(life, () => work(tx));
        if (held) throw held;
        tables = own;
        for (const [topic, subject] of told.values())
          for (const each of subscribers) if (each.topic === topic) each.listener(subject);
        return value;
      } finally {
        life.isOver = true;
      }
    });
  }

  const missing = (name) => {
    throw new Error(`${name} was not declared`);
  };
  const load = (data) => {
    const table = ({ name }) => [
      name,
      new Map(copy(data[name] ?? []).map((record) => [record.id, record])),
    ];
    tables = new Map(collections.map(table));
  };

  return {
    ...reader(opened),
    transact,
    async open(declared) {
      if (collections) throw new Error("A store is opened once");
      collections = declared;
      load({});
    },
    subscribe(topic, listener) {
      const subscriber = { topic, listener };
      subscribers.add(subscriber);
      return () => void subscribers.delete(subscriber);
    },
    async lease(name, for_ms) {
      opened();
      if (leases.get(name)?.until > performance.now()) return undefined;
      const mine = { until: performance.now() + for_ms };
      leases.set(name, mine);
      return { release: async () => void (leases.get(name) === mine && leases.delete(name)) };
    },
    snapshot: () =>
      inTurn(async (all) => ({
        format: 1,
        collections: copy(
          Object.fromEntries([...all].map(([name, table]) => [name, [...table.values()]])),
        ),
      })),
    restore: (data) => inTurn(async () => load(data.collections)),
    async close() {
      await last;
      tables = undefined;
      collections ??= [];
    },
  };
}
