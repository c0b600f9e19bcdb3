// The PostgreSQL of a test file, started when it is first asked for and gone after the last test. Where none is installed
// the tests say that they are skipped, and why; TEST_REQUIRE_POSTGRES=1 makes that a failure.
import { type TestContext, test } from "node:test";
import { closeLater } from "./closing.ts";
import { type Database, missing, startDatabase } from "./database.ts";

/** Why there are no such tests here; false where there are. */
export const skip = process.env.TEST_REQUIRE_POSTGRES !== "1" && missing;

let shared: Database | undefined;

/** The database of this test file. */
export function database(): Database {
  shared ??= startDatabase();
  return shared;
}
closeLater(() => shared?.[Symbol.dispose]());

/** A test that needs it. */
export function onDatabase(
  name: string,
  use: (database: Database, t: TestContext) => Promise<void>,
): void {
  test(name, { skip, timeout: 60_000 }, async (t) => use(database(), t));
}
