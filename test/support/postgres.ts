// The PostgreSQL of a test file, started at first use and stopped after the last test. Without an installation
// the tests are skipped with the reason; TEST_REQUIRE_POSTGRES=1 makes that a failure.
import { type TestContext, test } from "node:test";
import { closeLater } from "./closing.ts";
import { type Database, missing, startDatabase } from "./database.ts";

/** The reason to skip these tests; false if they run. */
export const skip = process.env.TEST_REQUIRE_POSTGRES !== "1" && missing;

let shared: Database | undefined;

/** The database of this test file. */
export function database(): Database {
  shared ??= startDatabase();
  return shared;
}
closeLater(() => shared?.[Symbol.dispose]());

/** A test that needs the database. */
export function onDatabase(
  name: string,
  use: (database: Database, t: TestContext) => Promise<void>,
): void {
  test(name, { skip, timeout: 60_000 }, async (t) => use(database(), t));
}
