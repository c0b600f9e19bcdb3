// Clauses of the specification: each is defined once, in test/spec, and used twice. Under `npm test` it tests our own
// server, one per file, and must not be skipped; the conformance kit collects the definitions for any server.
import { after, test } from "node:test";
import { type Own, ownTarget } from "../../scripts/conformance/own.ts";
import { Kit } from "./kit.ts";
import { ApiDocument } from "./openapi.ts";
import type { Outcome } from "./trial.ts";

/** May return a function that checks time-dependent results; it is called after all other clauses. */
export type Run = (kit: Kit) => Promise<unknown>;

export interface Clause {
  id: string;
  requirement: string;
  run: Run;
  /** Starts slow work before any clause is checked. */
  begin: (kit: Kit) => Promise<unknown>;
}

const defined: Clause[] = [];
let collecting = false;

/** Defines a clause: a statement of the specification in our own words, with a counterexample each. */
export function clause(
  id: string,
  requirement: string,
  run: Run,
  begin: Clause["begin"] = async () => {},
) {
  defined.push({ id, requirement, run, begin });
  if (collecting) return;
  after(closed);
  test(`${id}: ${requirement}`, async () => finish(await run(await ownKit())));
}

/** Defines a clause on the outcome of the trial, which starts before everything else because it is slow. */
export const judged = (id: string, requirement: string, judge: (outcome: Outcome) => void) =>
  clause(
    id,
    requirement,
    async (kit) => async () => judge(await (await kit.trial()).outcome),
    (kit) => kit.trial(),
  );

/** Loads the clauses of the files without running them. */
export async function collected(load: () => Promise<unknown>) {
  collecting = true;
  await load();
  collecting = false;
  return defined;
}

/** Runs the deferred check of a clause, if it has one. */
export const finish = async (rest: unknown) => void (typeof rest === "function" && (await rest()));

let shared: Promise<Own & { kit: Kit }> | undefined;

/** Also checks every response of our own server against its OpenAPI document. */
async function ownKit() {
  shared ??= ownTarget().then(async (own) => {
    const document = await ApiDocument.of(own.service.authUrl);
    return { ...own, kit: await Kit.open(own.target, document.check.bind(document)) };
  });
  return (await shared).kit;
}

/** Ends with a file's last clause; the next file of the same process gets a server of its own. */
async function closed() {
  const own = await shared;
  shared = undefined;
  await own?.kit[Symbol.asyncDispose]();
  await own?.[Symbol.asyncDispose]();
}
