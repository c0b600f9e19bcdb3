// Example of a custom store: records in PostgreSQL, used by one process (`npm install pg`). Start with
// `DATABASE_URL=postgres://… --store ./store.mjs`. Each collection is a table with the record as JSON text, a sequence
// for creation order, and one text column for each index, its order, and each unique key. Units of work run one after
// the other, each in a transaction. The database's settings determine the durability of a commit.
import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import pg from "pg";

/** An index entry is limited to 2,700 bytes. */
const KEY_LENGTH_MAX = 800;

/** Encodes values as JSON, because PostgreSQL text cannot hold NUL and lone surrogates. Returns null if one is null. */
function toKey(values) {
  if (values.some((value) => value === null || value === undefined)) return null;
  const key = JSON.stringify(values);
  return key.length > KEY_LENGTH_MAX ? hash("sha256", key) : key;
}

/** Encodes a value so that the texts sort as the values do in JavaScript. */
function toSortText(value) {
  if (typeof value === "string")
    return `${Buffer.from(value, "utf16le").swap16().toString("hex")}!`;
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  const bits = bytes.readBigUInt64BE();
  const sign = 1n << 63n;
  bytes.writeBigUInt64BE(bits & sign ? bits ^ ((1n << 64n) - 1n) : bits | sign);
  return bytes.toString("hex");
}

/** The column names of a collection, each with the function that computes its value. */
function listColumns({ indexes, unique }) {
  const select = (record, fields) => fields.map((field) => record[field]);
  const columns = {
    id: ({ id }) => toKey([id]),
    record: (record) => JSON.stringify(record),
  };
  for (const [name, { by, order = [] }] of Object.entries(indexes)) {
    const fields = [order].flat();
    columns[`index_${name}`] = (record) =>
      toKey(select(record, [...by, ...fields])) && toKey(select(record, by));
    columns[`order_${name}`] = (record) => {
      const values = select(record, fields);
      return toKey(values) && values.map(toSortText).join("");
    };
  }
  for (const [name, fields] of Object.entries(unique))
    columns[`unique_${name}`] = (record) => toKey(select(record, fields));
  return columns;
}

const toTable = ({ name }) => `"apphost_${name}"`;

const createError = (name, message, cause) =>
  Object.assign(new Error(message, { cause }), { name });

/** Errors of classes 22, 23 and 42 concern the statement or its values; all others the database. */
function throwStoreError(error) {
  if (error.code === "23505") throw createError("UniqueViolation", error.detail, error);
  if (/^(22|23|42)/.test(error.code)) throw error;
  throw createError("StorageUnavailable", `Database error: ${error.message}`, error);
}

function createReader(query) {
  const select = async (from, rest, values) => {
    const { rows } = await query(`SELECT record FROM ${toTable(from)} ${rest}`, values);
    return rows.map(({ record }) => JSON.parse(record));
  };
  return {
    select,
    get: async (from, id) => (await select(from, "WHERE id = $1", [toKey([id])]))[0],
    find: async (from, unique, values) =>
      (await select(from, `WHERE "unique_${unique}" = $1`, [toKey(values)]))[0],
    page: (from, index, values, { offset, limit }) => {
      const order = `ORDER BY "order_${index}", seq OFFSET $2 LIMIT $3`;
      return select(from, `WHERE "index_${index}" = $1 ${order}`, [toKey(values), offset, limit]);
    },
    count: async (from, index, values) => {
      const text = `SELECT count(*) FROM ${toTable(from)} WHERE "index_${index}" = $1`;
      return Number((await query(text, [toKey(values)])).rows[0].count);
    },
  };
}

export default function createStore(connectionString = process.env.DATABASE_URL) {
  const current = new AsyncLocalStorage();
  let collections;
  let pool;
  let last = Promise.resolve();

  const getPool = () => {
    if (!pool || current.getStore()?.isOpen)
      throw new Error("The store is not open, or was called inside a unit of work");
    return pool;
  };
  const reader = createReader(async (text, values) =>
    getPool().query(text, values).catch(throwStoreError),
  );

  /** Runs one `work` at a time. */
  const exclusive = async (work) => {
    getPool();
    const run = last.then(work);
    last = run.catch(() => {});
    return run;
  };

  async function execute(work) {
    const client = await pool.connect().catch(throwStoreError);
    const state = { isOpen: true };
    let failure;
    const query = async (text, values) => {
      if (!state.isOpen) throw new Error("This unit of work has ended");
      return client.query(text, values).catch((error) => {
        failure ??= error; // PostgreSQL rejects all later statements of the transaction
        return throwStoreError(failure);
      });
    };
    const put = async (into, record) => {
      const columns = Object.entries(listColumns(into));
      const names = columns.map(([name]) => `"${name}"`);
      await query(
        `INSERT INTO ${toTable(into)} (${names}) VALUES (${names.map((_, n) => `$${n + 1}`)})
         ON CONFLICT (id) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`)}`,
        columns.map(([, compute]) => compute(record)),
      );
    };
    const remove = async (from, id) => {
      await query(`DELETE FROM ${toTable(from)} WHERE id = $1`, [toKey([id])]);
    };
    try {
      await query("BEGIN");
      const tx = { ...createReader(query), put, remove };
      const value = await current.run(state, async () => work(tx, query));
      if (failure) throwStoreError(failure);
      state.isOpen = false;
      await client.query("COMMIT").catch((error) => {
        if (error.severity) throwStoreError(error);
        throw new Error("The connection was lost at a commit; its outcome is unknown", {
          cause: error,
        });
      });
      client.release();
      return value;
    } catch (error) {
      state.isOpen = false;
      await client.query("ROLLBACK").then(
        () => client.release(),
        (lost) => client.release(lost),
      );
      throw error;
    }
  }

  return {
    ...reader,
    transact: (work) => exclusive(() => execute(work)),

    async open(declared) {
      if (collections) throw new Error("A store can be opened only once");
      collections = declared;
      pool = new pg.Pool({ connectionString });
      pool.on("error", () => {}); // lost while idle; the next call gets another connection
      try {
        for (const collection of collections) {
          const [table, names] = [toTable(collection), Object.keys(listColumns(collection))];
          const columns = names.map(
            (name) => `"${name}" text COLLATE "C" ${/^(id|unique)/.test(name) ? "UNIQUE" : ""}`,
          );
          await pool.query(
            `CREATE TABLE IF NOT EXISTS ${table} (seq bigserial PRIMARY KEY, ${columns})`,
          );
          for (const name of Object.keys(collection.indexes))
            await pool.query(
              `CREATE INDEX IF NOT EXISTS "apphost_${collection.name}_${name}"
               ON ${table} ("index_${name}", "order_${name}", seq)`,
            );
        }
      } catch (error) {
        throw createError("StoreOpenError", `The database cannot be used: ${error.message}`, error);
      }
    },

    snapshot: () =>
      exclusive(async () => {
        const lists = {};
        for (const each of collections)
          lists[each.name] = await execute((tx) => tx.select(each, "ORDER BY seq", []));
        return { format: 2, collections: lists };
      }),

    restore: (data) =>
      exclusive(() =>
        execute(async (tx, query) => {
          for (const collection of collections) {
            await query(`DELETE FROM ${toTable(collection)}`);
            for (const record of data.collections[collection.name] ?? [])
              await tx.put(collection, record);
          }
        }),
      ),

    async close() {
      const closing = pool;
      pool = undefined;
      collections ??= [];
      await last;
      await closing?.end();
    },
  };
}
