// The PostgreSQL example passes the store contract where PostgreSQL is installed, and its data outlives the store.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isStoreError, type Store } from "../../src/domain/store.ts";
import { storeContract } from "./contract.ts";
import { idsIn, note, notes, write } from "./fixture.ts";
import { skip, startDatabase } from "./postgres/database.ts";
// @ts-expect-error: it is plain JavaScript, to be copied
import createPostgresStore from "./postgres/store.mjs";

const database = skip ? undefined : startDatabase();
after(() => database?.stop());

storeContract(() => createPostgresStore(database?.createAddress()), { skip });

test("records in PostgreSQL outlive the store that wrote them", { skip }, async () => {
  const address = database?.createAddress();
  for (const ids of ["a", "a b"]) {
    const store: Store = createPostgresStore(address);
    await store.open([notes]);
    await write(store, note(ids.at(-1) ?? ""));
    assert.equal(await idsIn(store), ids);
    await store.close();
  }
});

test("a PostgreSQL that cannot be reached rejects with StoreOpenError", { skip }, async () => {
  const store: Store = createPostgresStore("postgres:///none?host=/none");
  await assert.rejects(store.open([notes]), (error) => isStoreError(error, "StoreOpenError"));
  await store.close();
});
