// Names each black-box test after the decision that this project took where the specification is silent, so that
// `--test-name-pattern=4.etag` runs one. The tests run against a server of their own, one a file.
import { test } from "node:test";
import type { DecisionId } from "../../src/decisions.ts";
import type { ServiceOptions } from "../../src/index.ts";
import { closeLater } from "./closing.ts";
import { type Described, described } from "./embedded.ts";
import { Gate } from "./other-stores.ts";

export type { Described as Context } from "./embedded.ts";

/** A server of its own, whose clock stands still. */
export const MANUAL = { clock: "manual" } as const;

type Run = (context: Described) => Promise<unknown>;

/** A row of the register, or a facet of one. */
type ChoiceId = DecisionId | `${DecisionId}.${string}`;

/**
 * A test of what this project chose, on the file's common server or on one of its own, with these options. `id` is the
 * decision's; several tests may hold one decision.
 */
export function choice(
  id: ChoiceId,
  requirement: string,
  ...how: readonly [Run] | readonly [ServiceOptions, Run]
) {
  test(`${id} (our choice): ${requirement}`, async () => {
    if (how.length === 1) await how[0](await common());
    else await withService(...how);
  });
}

let shared: Promise<Described> | undefined;
/** The one server of a test file, started by the first test that asks for it. */
function common(): Promise<Described> {
  shared ??= described({ clock: "system" });
  return shared;
}
closeLater(async () => (await shared)?.[Symbol.asyncDispose]());

/** A server with options of its own, closed whatever `use` does. */
export async function withService(options: ServiceOptions, use: Run): Promise<void> {
  await using own = await described({ clock: "system", ...options });
  await use(own);
}

/**
 * A test of what this project chose, on a server of its own whose clock stands still and whose storage refuses writes, or
 * holds them back, as the gate says.
 */
export function gated(
  id: ChoiceId,
  requirement: string,
  use: (own: Described, gate: Gate) => Promise<unknown>,
) {
  const gate = new Gate();
  choice(id, requirement, { store: gate.store, ...MANUAL }, async (own) => {
    // Notes the first use of the key, so that no write is left that nobody asked for.
    await own.api.get("/account");
    await use(own, gate);
    gate.fault = undefined;
  });
}
