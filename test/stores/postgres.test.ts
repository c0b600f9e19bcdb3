// The PostgreSQL store: the store contract, and tests with several processes, lost connections and changed
// declarations. Each test has tables of its own.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type AnyCollection,
  collection,
  isStoreError,
  type Store,
} from "../../src/domain/store.ts";
import { unsafeCast } from "../../src/lib/schema.ts";
import { readSettings } from "../../src/options.ts";
import { postgresStore } from "../../src/postgres/store.ts";
import { startWithSettings } from "../../src/server.ts";
import { storeContract } from "../../src/store/contract.ts";
import { Client } from "../support/client.ts";
import { freshFolder } from "../support/closing.ts";
import { took } from "../support/costs.ts";
import { database, onDatabase } from "../support/postgres.ts";
import { eventually, promised } from "../support/wait.ts";
import {
  idsIn,
  type Note,
  note,
  notes,
  numbered,
  publish,
  refusesBadData,
  write,
} from "./fixture.ts";

const DRIVER = "pg";
/** Cast, because the driver's types are not installed. */
const pg = unsafeCast<{
  readonly Client: { readonly prototype: { query(...given: unknown[]): unknown } };
}>((await import(DRIVER)).default);

storeContract(onDatabase, () => postgresStore(database().address()));

/** Registers a test with its own tables and a way to open stores on them, which are closed at the end. */
function onTables(name: string, use: (on: Tables) => Promise<void>): void {
  onDatabase(name, (_, t) => use(tables(t)));
}

type Tables = ReturnType<typeof tables>;

function tables(t: TestContext) {
  const address = database().address();
  const schema = /\w+$/.exec(decodeURIComponent(address))?.[0];
  const open = async (
    collections: AnyCollection[] = [notes],
    at = address,
    monotonic?: () => number,
  ) => {
    const store = postgresStore(at, monotonic);
    t.after(() => store.close());
    await store.open(collections);
    return store;
  };
  return { ...database(), t, address, schema, leases: `${schema}.apphost_leases`, open };
}

/** Selects the sessions that renew leases, one per process. */
const LINES = "FROM pg_stat_activity WHERE query LIKE 'WITH renewed AS%'";

/** A holder that is silent for this long is considered dead. */
const GONE_MS = 6_000;
/** Longer than the database may be unresponsive without counting as away. */
const AWAY_MS = 3_500;
/** A holder may be silent for this long at any time, because it was frozen or busy. */
const SILENT = "interval '4.5 s'";

const heardBy = (store: Store): string[] => {
  const received: string[] = [];
  store.subscribe("t", (subject) => received.push(subject));
  return received;
};

const isUnavailable = (error: unknown) => isStoreError(error, "StorageUnavailable");
const orUnavailable = (error: unknown) => assert.ok(isUnavailable(error), String(error));

onTables(
  "stores that open an empty database at once share it and each other's notifications",
  async (on) => {
    const all = await Promise.all([on.open(), on.open(), on.open(), on.open()]);
    const received = all.map(heardBy);
    // With characters that PostgreSQL text cannot hold, and as long as the port allows beside the topic.
    const subjects = ["a", "b\0\ud800'\\", "\0".repeat(999)];
    for (const [n, subject] of subjects.entries()) await publish(all[n] ?? assert.fail(), subject);
    for (const each of received)
      await eventually(async () => (each.length === 3 ? each : undefined));
    for (const each of received) assert.deepEqual(each, subjects);
    for (const store of all) assert.equal(await idsIn(store), subjects.join(" "));
    // Longer than a PostgreSQL index entry, even compressed.
    const long = note(randomBytes(5_000).toString("hex"));
    for (const store of all) await write(store, long);
    assert.deepEqual(await all[0]?.get(notes, long.id), long);
  },
);

onTables(
  "subscribers are notified before a commit resolves, even while the listening session is lost",
  async ({ open, sql }) => {
    const store = await open();
    const received = heardBy(store);
    for (let n = 0; n < 20; n += 1) {
      const telling = publish(store, `${n}`);
      if (n === 10) sql(`SELECT pg_terminate_backend(pid) ${LINES}`);
      await telling;
      assert.equal(received.at(-1), `${n}`);
    }
  },
);

onTables(
  "calls on terminated sessions reject with StorageUnavailable, and the next calls succeed",
  async ({ open, sql }) => {
    const [store, other] = [await open(), await open()];
    await write(store, note("before"));
    const received = heardBy(other);
    const working = store.transact(async (tx) => {
      for (let n = 0; ; n += 1) await tx.get(notes, `${n}`);
    });
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
    await assert.rejects(working, isUnavailable);
    await eventually(() => idsIn(store).catch(orUnavailable));
    await write(store, note("after"));
    assert.equal(await idsIn(other), "before after");
    await eventually(async () => {
      await publish(store, "again");
      return received[0];
    });
  },
);

onTables(
  "every call rejects with StorageUnavailable while the database is down, and succeeds once it is back",
  async (db) => {
    const store = await db.open();
    await write(store, note("before"));
    db.stop();
    const calls = [
      () => idsIn(store),
      () => write(store, note("no")),
      () => store.lease("l", 1),
      () => store.snapshot(),
    ];
    for (const call of calls) await assert.rejects(call(), isUnavailable);
    db.start();
    await write(store, note("after"));
    assert.equal(await idsIn(store), "before after");
  },
);

/**
 * A proxy to the database that cuts the connection at the next COMMIT, or `word`: before it is sent, before its
 * response arrives, or by never responding again.
 */
async function cutting(
  { t, address }: Tables,
  when: "before" | "after" | "never",
  word = "COMMIT",
) {
  const folder = freshFolder();
  const [name, sockets] = [".s.PGSQL.5432", new Set<Socket>()];
  const armed = { is: false };
  const server = createServer((near) => {
    const far = connect(join(database().folder, name));
    let isOver = false;
    for (const socket of [near, far]) sockets.add(socket.on("error", () => undefined));
    near.on("data", (chunk) => {
      isOver ||= armed.is && chunk.includes(word);
      if (isOver && when === "before") near.destroy();
      else far.write(chunk);
    });
    far.on("data", (chunk) => {
      if (!isOver) near.write(chunk);
      else if (when === "after") near.destroy();
    });
    near.on("close", () => far.end());
    far.on("close", () => near.destroy());
  }).listen(join(folder, name));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { armed, cut: address.replace(database().folder, folder) };
}

for (const when of ["before", "after"] as const)
  onTables(
    `a commit cut off ${when} its execution rejects with an unknown outcome, not with StorageUnavailable`,
    async (on) => {
      const { armed, cut } = await cutting(on, when);
      const store = await on.open([notes], cut);
      const received = heardBy(store);
      armed.is = true;
      await assert.rejects(publish(store, "a"), (error) => {
        assert.match(String(error), /whether it was kept is not known/);
        return !isUnavailable(error);
      });
      assert.deepEqual(received, ["a"], "whoever hears of it is to look");
      armed.is = false;
      await eventually(async () => (await idsIn(store)) === (when === "after" ? "a" : ""));
    },
  );

onTables(
  "a commit that the database terminates rejects with an unknown outcome",
  async ({ open, sql, schema }) => {
    const store = await open();
    sql(
      `CREATE FUNCTION ${schema}.late() RETURNS trigger AS 'BEGIN PERFORM pg_sleep(20); RETURN NULL; END' LANGUAGE plpgsql`,
      `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ${schema}.apphost_notes DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION ${schema}.late()`,
    );
    const reported = assert.rejects(publish(store, "a"), /whether it was kept is not known/);
    const end =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%COMMIT' AND state = 'active'";
    await eventually(async () => sql(end).trim());
    await reported;
  },
);

onTables(
  "a unit of work that stays silent is terminated, and the one waiting for it continues",
  async ({ open }) => {
    const [silent, other] = [await open(), await open()];
    const silence = silent.transact(async (tx) => {
      await tx.put(notes, note("a", "of the silent one"));
      await write(other, note("a"));
    });
    await assert.rejects(silence);
    assert.equal((await other.get(notes, "a"))?.text, "text of a");
  },
);

onTables(
  "creating a record takes the table's lock, and replacing a record read before does not",
  async ({ open, sql }) => {
    const store = await open();
    await write(store, note("a"));
    const turns = () => sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").trim();
    await store.transact(async (tx) => {
      await tx.get(notes, "a");
      await tx.put(notes, note("a", "replaced"));
      assert.equal(turns(), "0");
      await tx.remove(notes, "a");
      await tx.put(notes, note("a", "a new one"));
      assert.equal(turns(), "1");
    });
    await store.transact(async (tx) => {
      await tx.get(notes, "a");
      await tx.put(notes, note("b"));
      assert.equal(turns(), "1");
    });
  },
);

onTables(
  "other processes wait only once for a frozen process, however many of its units of work hold up a lock",
  async (on) => {
    const { armed, cut } = await cutting(on, "never", "INSERT INTO");
    const [frozen, other] = [await on.open([notes], cut), await on.open()];
    armed.is = true;
    void Promise.allSettled(["a", "b", "c"].map((id) => write(frozen, note(id))));
    await eventually(
      async () =>
        on.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").trim() === "3",
    );
    assert.ok((await took(() => write(other, note("d")))) < GONE_MS + 1_500);
  },
);

onTables(
  "an invalid query rejects with the database's error instead of StorageUnavailable",
  async ({ open }) => {
    const wrong = (await open()).get(collection<Note>()("undeclared"), "a");
    await assert.rejects(
      wrong,
      (error) => !isUnavailable(error) && /undeclared/.test(String(error)),
    );
  },
);

onTables("foreign notifications on the channel are ignored", async ({ open, sql, schema }) => {
  const [store, other] = [await open(), await open()];
  const received = heardBy(other);
  for (const said of ["hello", "", "0", '["x"]'])
    sql(`SELECT pg_notify('apphost_' || md5('${schema}'), '${said}')`);
  await publish(store, "a");
  assert.equal(await eventually(async () => received[0]), "a");
});

onTables(
  "leases expire soon after their holder stops, not before, and are then free to every process",
  async (on) => {
    const [store, ...others] = [await on.open(), await on.open(), await on.open()];
    const names = Array.from({ length: 40 }, (_, n) => `l${n}`);
    for (const name of names) assert.ok(await store.lease(name, 3_600_000));
    const left = `SELECT max(until) > clock_timestamp() + ${SILENT} FROM ${on.leases}`;
    assert.equal(on.sql(left).trim(), "t");
    const began = performance.now();
    await eventually(async () => {
      assert.equal(await others[0]?.lease("l0", 1), undefined);
      return performance.now() - began > GONE_MS + 1_000;
    });
    await store.close();
    await Promise.all(
      names.map((name, n) => eventually(async () => others[n % 2]?.lease(name, 3_600_000))),
    );
  },
);

onTables(
  "a start deletes leases that expired more than an hour ago",
  async ({ open, sql, leases }) => {
    assert.ok(await (await open()).lease("l", 1));
    sql(`INSERT INTO ${leases} VALUES ('old', 1, clock_timestamp() - interval '61 minutes')`);
    await open();
    assert.equal(sql(`SELECT name FROM ${leases}`).trim(), '["l"]');
  },
);

onTables("a lease that expires while the database is down stays with its holder", async (on) => {
  const { sql, leases } = on;
  const [store, other] = [await on.open(), await on.open()];
  assert.ok(await store.lease("l", 3_600_000));
  on.stop();
  const away = performance.now();
  await eventually(async () => performance.now() - away > AWAY_MS);
  on.start();
  // Simulates a longer outage and a holder that renews late.
  sql(
    `UPDATE ${leases} SET until = clock_timestamp()`,
    `CREATE FUNCTION ${leases}_late() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN CASE
      WHEN NEW.holder <> OLD.holder OR clock_timestamp() - OLD.until > interval ''1.5 s'' THEN NEW END; END'`,
    `CREATE TRIGGER late BEFORE UPDATE ON ${leases} FOR EACH ROW EXECUTE FUNCTION ${leases}_late()`,
  );
  await eventually(async () => {
    assert.equal(await other.lease("l", 1).catch(orUnavailable), undefined);
    return sql(`SELECT until > clock_timestamp() FROM ${leases}`).trim() === "t";
  });
  sql(`DROP TRIGGER late ON ${leases}`);
  assert.equal(await other.lease("l", 1), undefined);
});

onTables(
  "a lease request delayed by an outage does not take a lease that expired meanwhile",
  async (on) => {
    const { sql, schema, leases } = on;
    const [store, other] = [await on.open(), await on.open()];
    assert.ok(await store.lease("l", 3_600_000));
    await store.close();
    sql(`INSERT INTO ${leases} VALUES ('["over"]', 1, clock_timestamp())`);
    await eventually(async () => other.lease("over", 1)); // by then it knows that others have renewed
    sql(
      `UPDATE ${leases} SET until = clock_timestamp() + interval '1 s'`,
      `CREATE FUNCTION ${schema}.late() RETURNS trigger AS 'BEGIN PERFORM pg_sleep(${AWAY_MS / 1000}); RETURN NEW; END' LANGUAGE plpgsql`,
      `CREATE TRIGGER late BEFORE INSERT ON ${leases} FOR EACH ROW EXECUTE FUNCTION ${schema}.late()`,
    );
    assert.equal(await other.lease("l", 1), undefined);
    sql(`DROP TRIGGER late ON ${leases}`);
    await eventually(async () => other.lease("l", 1));
  },
);

onTables(
  "a lease is free soon when the response to its acquisition or release is lost",
  async (on) => {
    const { armed, cut } = await cutting(on, "after", "INSERT INTO apphost_leases");
    const [store, lost, other] = [await on.open(), await on.open([notes], cut), await on.open()];
    const lease = await store.lease("l", 3_600_000);
    armed.is = true;
    await assert.rejects(lost.lease("m", 3_600_000), isUnavailable);
    armed.is = false;
    on.stop();
    await lease?.release();
    on.start();
    for (const name of ["l", "m"])
      await eventually(async () => other.lease(name, 1).catch(orUnavailable));
  },
);

onTables(
  "a lost session is replaced at once, even under load, and keeps its leases",
  async (on) => {
    const { sql } = on;
    const [store, other] = [await on.open(), await on.open()];
    assert.ok(await store.lease("l", 3_600_000));
    const { kept: held, keep: goOn } = promised();
    // Uses every session of the pool, and some calls wait for one.
    const works = Array.from({ length: 12 }, (_, n) =>
      store.transact((tx) => Promise.all([tx.get(notes, `${n}`), held])),
    );
    for (let times = 0; times < 3; times += 1) {
      sql(`SELECT pg_terminate_backend(pid) ${LINES}`);
      await eventually(async () => {
        assert.equal(await other.lease("l", 1).catch(orUnavailable), undefined);
        return sql(`SELECT count(*) ${LINES}`).trim() === "2";
      });
    }
    goOn();
    await Promise.all(works);
  },
);

onTables("an unresponsive connection is replaced before a lease would expire", async (on) => {
  const { armed, cut } = await cutting(on, "never", "WITH renewed AS");
  armed.is = true;
  const began = performance.now();
  const opening = on.open([notes], cut);
  await eventually(async () => on.sql(`SELECT count(*) ${LINES}`).trim() === "1");
  armed.is = false;
  const [store, other] = [await opening, await on.open([notes], cut)];
  assert.ok(performance.now() - began < GONE_MS, "before a lease would have run out");
  const received = heardBy(store);
  await publish(other, "a");
  assert.equal(await eventually(async () => received[0]), "a");
});

onTables("a lease granted too late is not returned", async ({ open }) => {
  let late_ms = 0;
  const store = await open(undefined, undefined, () => performance.now() + late_ms);
  const asking = store.lease("l", 3_600_000);
  late_ms = GONE_MS + 1;
  assert.equal(await asking, undefined);
});

onTables("deadlocked units of work are retried", async ({ open }) => {
  const store = await open();
  await write(store, note("a"), note("b"));
  let begun = 0;
  const { kept: bothHaveBegun, keep: goOn } = promised();
  const writing = (ids: string) =>
    store.transact(async (tx) => {
      for (const id of ids) {
        await tx.get(notes, id); // a create would wait for the lock
        await tx.put(notes, note(id, `${id} of ${ids}`));
        begun += 1;
        if (begun === 2) goOn();
        await bothHaveBegun;
      }
    });
  await Promise.all(["ab", "ba"].map(writing));
});

/** Intercepts all queries from now on; `pass` sends one to its session. */
function onItsWay(
  t: TestContext,
  way: (text: string, pass: () => unknown, session: unknown) => unknown,
): void {
  const { query } = pg.Client.prototype;
  t.mock.method(
    pg.Client.prototype,
    "query",
    function (this: unknown, what: unknown, ...rest: unknown[]) {
      const text = typeof what === "string" ? what : String(Object(what).text);
      return way(text, () => Reflect.apply(query, this, [what, ...rest]), this);
    },
  );
}

onTables("a unit of work is not run when its transaction cannot begin", async ({ open, t }) => {
  const store = await open();
  onItsWay(t, (text, pass) =>
    text.startsWith("BEGIN") ? Promise.reject(new Error("lost")) : pass(),
  );
  const work = t.mock.fn(async () => undefined);
  await assert.rejects(store.transact(work), isUnavailable);
  assert.equal(work.mock.callCount(), 0);
});

onTables("a restore of invalid data rejects and keeps the current data", async ({ open }) =>
  refusesBadData(await open()),
);

onTables("a restore completes while other processes write", async ({ open }) => {
  const [store, other] = [await open(), await open()];
  let isOver = false;
  const writing = async () => {
    for (let n = 0; !isOver; n += 1)
      await other.transact(async (tx) => {
        await tx.count(notes, "list", ["all"]);
        await tx.put(notes, note(`by another ${n}`));
      });
  };
  const written = writing();
  await store.restore({ format: 1, collections: { notes: numbered(1_000) } }).finally(() => {
    isOver = true;
  });
  await written;
  assert.ok(await store.get(notes, "999"));
});

onTables(
  "asynchronous work started in a unit of work may call the store after its end",
  async ({ open }) => {
    const store = await open();
    const left = await store.transact(async () => ({
      look: new Promise(setImmediate).then(() => idsIn(store)),
    }));
    assert.equal(await left.look.catch(String), "");
  },
);

onTables("a session is not used again after a query timeout", async ({ open, t }) => {
  const store = await open();
  await write(store, note("a"));
  const silent = new Set<unknown>();
  const after: string[] = [];
  onItsWay(t, (text, pass, session) => {
    if (silent.has(session)) after.push(text);
    if (!text.includes("WHERE id = $1")) return pass();
    silent.add(session);
    return Promise.reject(new Error("Query read timeout"));
  });
  const asking = store.transact((tx) => tx.get(notes, "a"));
  await assert.rejects(asking, isUnavailable);
  t.mock.restoreAll();
  assert.equal(silent.size, 1);
  assert.deepEqual(after, []);
  assert.equal(await idsIn(store), "a");
});

const plain = collection<Note>()("notes");

onTables("indexes and unique keys declared later contain the existing records", async (on) => {
  const { open, address } = on;
  const store = await open([plain]);
  await store.transact(async (tx) => {
    for (const id of ["b", "a"]) await tx.put(plain, note(id));
  });
  await store.close();
  const [running, later] = [await open([plain]), await open()];
  await running.transact((tx) => tx.put(plain, note("a")));
  assert.equal(await idsIn(later), "b a", "nor does a process that knows less take anything out");
  assert.equal((await later.find(notes, "text", ["text of a"]))?.id, "a");
  await later.close();
  await assert.rejects(postgresStore(address).open([plain]), /made by another version .*"notes"/);
  const old = postgresStore(address);
  on.sql(`INSERT INTO ${on.schema}.apphost_declared VALUES ('format 9')`);
  await assert.rejects(old.open([plain]), (error) => {
    assert.match(
      String(error),
      /made by another version of this service \(it has format 9\); start that one/,
    );
    return isStoreError(error, "StoreOpenError");
  });
});

onTables(
  "a start with a new unique key that existing records violate fails and changes nothing",
  async (on) => {
    const store = await on.open([plain]);
    await store.transact(async (tx) => {
      for (const id of ["a", "b"]) await tx.put(plain, note(id, "same"));
    });
    await store.close();
    await assert.rejects(on.open(), (error) => isStoreError(error, "StoreOpenError"));
    assert.ok(await on.open([plain]));
  },
);

onDatabase(
  "opening an unusable database rejects with a one-line message without secrets",
  async () => {
    for (const address of [
      "postgres://u:secret@127.0.0.1:1/x",
      `${database().address()}&user=nobody&password=secret`,
    ])
      await assert.rejects(postgresStore(address).open([notes]), (error) => {
        assert.match(
          String(error),
          /^StoreOpenError: The database cannot be used: .*(REFUSED|nobody).*$/,
        );
        assert.doesNotMatch(String(error), /secret/);
        return isStoreError(error, "StoreOpenError");
      });
  },
);

/** Records all statements from now on, except liveness checks and lock monitoring. */
function countedOf(t: TestContext): string[] {
  const asked: string[] = [];
  onItsWay(t, (text, pass) => {
    if (!/^SELECT$|index_waiting/.test(text)) asked.push(...text.split("; "));
    return pass();
  });
  return asked;
}

onTables("a failed lease renewal is retried after a pause", async (on) => {
  const { sql, t } = on;
  await on.open();
  // Sessions lost earlier must not add retries.
  for (let times = 0; times < 3; times += 1) {
    sql(`SELECT pg_terminate_backend(pid) ${LINES}`);
    await eventually(async () => sql(`SELECT count(*) ${LINES}`).trim() === "1");
  }
  const asked = countedOf(t);
  const began = performance.now();
  sql(`ALTER TABLE ${on.leases} RENAME TO gone`);
  await eventually(
    async () => asked.filter((text) => text.startsWith("WITH renewed AS")).length >= 5,
  );
  assert.ok(performance.now() - began > 1_500);
});

onDatabase(
  "a create takes at most seven statements and counts no events, and a read of one resource at most two",
  async (_, t) => {
    const settings = readSettings({
      port: 0,
      log: "off",
      data: database().address(),
      apiKey: "a-key-of-its-own",
    });
    const service = await startWithSettings(settings, false);
    t.after(() => service.close());
    const api = new Client({ baseUrl: service.baseUrl, key: service.apiKey });
    const asked = countedOf(t);
    /** Returns the fewest statements of five runs, because timers may add some. */
    const least = async (call: () => Promise<unknown>) => {
      const counts: string[][] = [];
      for (let n = 0; n < 5; n += 1) {
        asked.splice(0);
        await call();
        await service.settled(); // background work counts, too
        counts.push(asked.splice(0));
      }
      return counts.sort((a, b) => a.length - b.length)[0] ?? [];
    };
    const { json } = await api.post("/apps", { title: "first" });
    await service.settled();
    const create = await least(() => api.post("/apps", { title: "another" }));
    assert.ok(create.length <= 7, create.join("\n"));
    assert.doesNotMatch(create.join("\n"), /count\(/);
    const read = await least(() => api.get(`/apps/${json.id}`));
    assert.ok(read.length <= 2, read.join("\n"));
  },
);
