// Clauses of the specification: each is defined once, in test/spec, and held twice. Under `npm test` it is a test of our own
// server, one a file, where nothing may be left untried; the conformance kit collects the definitions and judges anybody's.
import { after, test } from "node:test";
import { type Own, ownTarget } from "../../scripts/conformance/own.ts";
import { members } from "./client.ts";
import { Kit } from "./kit.ts";
import { ApiDocument } from "./openapi.ts";

/**
 * What the specification shows: one id for each statement that an implementation can hold or break. test/house fails where
 * one has no test. What it leaves open stands in src/decisions.ts.
 */
export const CLAUSES: ReadonlySet<string> = new Set(
  [
    "1.apps 1.deploy 1.data-sources 1.manage-users 1.webhooks 1.json",
    "2.app.id 2.app.title 2.app.description 2.app.theme 2.app.public 2.app.created_at 2.app.updated_at",
    "2.deployment-request.name 2.deployment-request.custom_domain 2.deployment-request.environment 2.deployment.id",
    "2.deployment.url 2.deployment.status 2.deployment.deployed_at 2.webhook.url 2.webhook.events 2.webhook.secret",
    "2.webhook.active 2.account",
    "3.deployment.live 3.app-no-state",
    "4.paths 4.create-app 4.list-apps 4.list-apps.limit 4.list-apps.offset 4.list-apps.public 4.delete-app",
    "4.app-id-segment 4.deploy 4.create-data-source 4.create-webhook",
    "5.bearer-header 5.api-key.full-access 5.401.invalid 5.401.expired 5.401.missing 5.401.format 5.403.scope 5.403.suspended",
    "5.403.limited 5.oauth.authorize 5.oauth.exchange 5.oauth.refresh 5.oauth.jwt 5.oauth.bearer",
    "5.oauth.client-credentials 5.refresh-failure.expired 5.refresh-failure.credentials 5.refresh-failure.revoked",
    "5.scope.read-apps 5.scope.write-apps 5.scope.delete-apps 5.scope.read-data 5.scope.admin",
    "6.types.app-created 6.types.app-updated 6.types.app-deployed 6.types.app-deleted 6.types.data-processed",
    "6.types.user-interaction 6.envelope 6.envelope.account 6.envelope.account-absent 6.data.app-deployed",
    "6.data.user-interaction 6.delivery.post 6.delivery.subscribed 6.success.2xx 6.success.2xx-only",
    "6.success.30-seconds 6.signature",
    "7.401 7.403",
    "8.default-limit 8.default-offset 8.answer-time 8.rate-limit-403",
    "9.path-segment",
  ].flatMap((some) => some.split(" ")),
);

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
export function clause(id: string, requirement: string, run: Run, begin: Clause["begin"] = async () => {}): void {
  defined.push({ id, requirement, run, begin });
  if (collecting) return;
  if (defined.length === 1) after(closed);
  test(`${id}: ${requirement}`, async () => finish(await run(await ownKit())));
}

/** The clauses of the files, which are loaded without being run. */
export async function collected(load: () => Promise<unknown>): Promise<readonly Clause[]> {
  collecting = true;
  await load();
  collecting = false;
  return defined;
}

/** Has the rest of a clause checked, where it has one. */
export const finish = async (rest: unknown): Promise<void> => void (typeof rest === "function" && (await rest()));

let shared: Promise<Own & { readonly kit: Kit }> | undefined;

/** All that our own server answers is held against its description, as well. */
async function ownKit(): Promise<Kit> {
  shared ??= ownTarget().then(async (own) => {
    const document = new ApiDocument(members(await (await fetch(`${own.target.authUrl}/openapi.json`)).json()));
    return { ...own, kit: await Kit.open(own.target, document.check.bind(document)) };
  });
  return (await shared).kit;
}

async function closed(): Promise<void> {
  const { kit, close } = (await shared) ?? {};
  await kit?.close();
  await close?.();
}
