// Names each black-box test after this project's decision where the specification is silent, so that
// `--test-name-pattern=4.etag` runs one. The tests of a file share one server.
import { after, test } from "node:test";
import type { DecisionId } from "../../src/decisions.ts";
import type { ServiceOptions } from "../../src/index.ts";
import { type Described, described, type Embedded, embedded } from "./embedded.ts";
import { Gate } from "./other-stores.ts";

export type { Described as Context } from "./embedded.ts";

/** A separate server whose clock stands still. */
export const MANUAL = { clock: "manual" } as const;

type Run = (context: Described) => Promise<unknown>;

/** A decision, or one aspect of it. */
export type Topic = DecisionId | `${DecisionId}.${string}`;
type Name = `${Topic}: ${string}`;

/**
 * Tests the decision that the name begins with, on the file's common server or, with options, on a separate one.
 * Several tests may cover one decision.
 */
export function choice(name: Name, ...how: readonly [Run] | readonly [ServiceOptions, Run]) {
  after(closeCommon);
  test(name, async () => {
    if (how.length === 1) await how[0](await common());
    else await withService(...how);
  });
}

let shared: Promise<Described> | undefined;
/** The common server of a test file, started by the first test that needs it. */
function common() {
  shared ??= described({ clock: "system" });
  return shared;
}
/** Ends with a file's last test, because the next file of the same process must not see its resources. */
async function closeCommon() {
  const own = await shared;
  shared = undefined;
  await own?.[Symbol.asyncDispose]();
}

/** Runs `use` with a separate server, and closes it afterwards in any case. */
export async function withService(options: ServiceOptions, use: Run) {
  await using own = await described({ clock: "system", ...options });
  await use(own);
}

type Use = (own: Embedded) => Promise<unknown>;

/** A test with a service of its own, whose clock stands still unless the options say otherwise. */
export function served(title: string, ...how: readonly [Use] | readonly [ServiceOptions, Use]) {
  const [options, use] = how.length === 1 ? [{}, how[0]] : how;
  test(title, async () => {
    await using own = await embedded(options);
    await use(own);
  });
}

/**
 * Tests one of this project's decisions on a separate server whose clock stands still. The gate makes its storage fail
 * or delay writes.
 */
export function gated(name: Name, use: (own: Described, gate: Gate) => Promise<unknown>) {
  const gate = new Gate();
  choice(name, { store: gate.store, ...MANUAL }, async (own) => {
    // Uses the key once, so that the write of last_used_at is done before the test.
    await own.api.get("/account");
    await use(own, gate);
    gate.fault = undefined;
  });
}
