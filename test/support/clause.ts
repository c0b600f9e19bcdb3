// Clauses of the specification: each is defined once, in test/spec, and held twice. Under `npm test` it is a test of our own
// server, one a file, where nothing may be left untried; the conformance kit collects the definitions and judges anybody's.
import { after, test } from "node:test";
import { type Own, ownTarget } from "../../scripts/conformance/own.ts";
import { Kit } from "./kit.ts";
import { ApiDocument } from "./openapi.ts";
import type { Outcome } from "./trial.ts";

/** May answer a function that checks what only time shows; it is called when all others are through. */
export type Run = (kit: Kit) => Promise<unknown>;

export interface Clause {
  readonly id: string;
  readonly requirement: string;
  readonly run: Run;
  /** What takes its time, and is begun before any clause is judged. */
  readonly begin: (kit: Kit) => Promise<unknown>;
}

const defined: Clause[] = [];
let collecting = false;

/** What the specification shows, in our own words, with its other side: what must not be. Each clause has one. */
export function clause(
  id: string,
  requirement: string,
  run: Run,
  begin: Clause["begin"] = async () => {},
): void {
  defined.push({ id, requirement, run, begin });
  if (collecting) return;
  if (defined.length === 1) after(closed);
  test(`${id}: ${requirement}`, async () => finish(await run(await ownKit())));
}

/** One that is judged by what comes of the trial, which is begun before everything else, since it takes its time. */
export const judged = (id: string, requirement: string, judge: (outcome: Outcome) => void) =>
  clause(
    id,
    requirement,
    async (kit) => async () => judge(await (await kit.trial()).outcome),
    (kit) => kit.trial(),
  );

/** The clauses of the files, which are loaded without being run. */
export async function collected(load: () => Promise<unknown>): Promise<readonly Clause[]> {
  collecting = true;
  await load();
  collecting = false;
  return defined;
}

/** Has the rest of a clause checked, where it has one. */
export const finish = async (rest: unknown): Promise<void> =>
  void (typeof rest === "function" && (await rest()));

let shared: Promise<Own & { readonly kit: Kit }> | undefined;

/** All that our own server answers is held against its description, as well. */
async function ownKit(): Promise<Kit> {
  shared ??= ownTarget().then(async (own) => {
    const document = await ApiDocument.of(own.service.authUrl);
    return { ...own, kit: await Kit.open(own.target, document.check.bind(document)) };
  });
  return (await shared).kit;
}

async function closed(): Promise<void> {
  const own = await shared;
  await own?.kit[Symbol.asyncDispose]();
  await own?.[Symbol.asyncDispose]();
}
