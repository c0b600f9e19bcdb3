// A store of your own: copy this file, put your database in the place of the Map, and start with
// `--store ./skeleton.mjs` (a file, or a package that is installed), or give it to startService as `store`. What every
// method promises is said in the types of the package (Store, Reader, Tx), and `storeContract(test, makeStore)` holds you
// to it: this skeleton passes all of it, by the simplest means, one unit of work after the other on a copy of everything.
//
// On a database: a collection is a table with id, the record as text, a sequence for creation order, and a column for each
// field of `indexes` and `unique`. `transact` is a serializable transaction, run again where the database asks for it;
// `publish` is sent to all processes with the commit; a lease is a row or a lock that ends on the database's clock, and with
// its holder. Where several processes share the data say so by `now`, the database's time in milliseconds: then they look
// every few seconds for what another left behind, and share their rate limits.
import { AsyncLocalStorage } from "node:async_hooks";

/** Errors are told by their names: StoreOpenError, StorageUnavailable, UniqueViolation. */
const fault = (name, message) => Object.assign(new Error(message), { name });
const copy = (value) => JSON.parse(JSON.stringify(value));

export default function makeStore() {
  /** A Map of records by id for each collection: in creation order, since a Map keeps it. */
  let tables;
  let collections;
  let last = Promise.resolve();
  const [subscribers, leases, running] = [new Set(), new Map(), new AsyncLocalStorage()];

  const opened = () => {
    if (!tables || running.getStore()?.isOver === false)
      throw new Error("Not open, or asked from inside a unit of work");
    return tables;
  };

  /** The questions, put to whatever `at` answers: the tables, or those of a unit of work. */
  const reader = (at) => {
    const table = ({ name }) => at().get(name) ?? missing(name);
    /** A record with null in one of the fields is left out. */
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

  /** One after the other; `work` takes the place of everything by what it answers, or of nothing where it fails. */
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
