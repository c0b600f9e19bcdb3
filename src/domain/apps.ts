// Apps (spec parts 2 and 4). A change, its event and the deliveries of that event are one transaction. `expect` is the
// caller's precondition (If-Match), asked inside that transaction.
import { decide } from "../decisions.ts";
import { changesOf, flag, type Infer, object, type Schema, text, withDefault } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { recordEvent } from "./events.ts";
import { everyPage, pageOf } from "./lists.ts";
import { type AppRecord, apps, dataSources, deployments, domains, goneDeployments } from "./model.ts";
import { owned } from "./owned.ts";
import type { Reader, Span } from "./store.ts";
import type { Unit, Work } from "./work.ts";

const { name: NAME_MAX, text: TEXT_MAX } = decide("8.field-lengths");
const REQUIRED: readonly string[] = decide("2.app-fields");
const optionally = <T>(name: string, schema: Schema<T>, otherwise: T): Schema<T> =>
  REQUIRED.includes(name) ? schema : withDefault(schema, otherwise);

export const appDraft = object({
  title: text({ min: 1, max: NAME_MAX, notBlank: true }),
  description: optionally("description", text({ max: TEXT_MAX }), ""),
  theme: optionally("theme", text({ min: 1, max: 64, pattern: new RegExp(decide("2.themes")) }), "light"),
  public: optionally("public", flag, false), // nothing is shown to strangers by omission
});
export const appChanges = changesOf(appDraft);

type AppDraft = Infer<typeof appDraft>;

export const createApp = (unit: Unit, caller: Caller, draft: AppDraft) =>
  unit.transact<AppRecord>(async (w) => {
    const app = await addApp(w, caller.account.id, draft);
    await recordEvent(w, caller.account, "app.created", eventObject(app));
    return app;
  });

export async function addApp(
  w: Work,
  account_id: string,
  draft: AppDraft,
  id = w.ids.next("app_"),
): Promise<AppRecord> {
  const app = { id, ...draft, created_at: w.at, updated_at: w.at, account_id };
  await w.tx.put(apps, app);
  return app;
}

const own = owned(apps, "app", { changing, removing });
export const { get: getApp, change: changeApp, remove: removeApp } = own;

export const listApps = (reader: Reader, caller: Caller, shared: boolean | undefined, span: Span) =>
  shared === undefined
    ? own.list(reader, caller, span)
    : pageOf(reader, apps, "account_public", [caller.account.id, shared], span);

async function changing(w: Work, after: AppRecord, _before: AppRecord, caller: Caller): Promise<AppRecord> {
  const app = { ...after, updated_at: w.at };
  await recordEvent(w, caller.account, "app.updated", eventObject(app));
  return app;
}

/** With the app go its deployments; its data sources, which may be shared and costly to load, stay without an app. */
async function removing(w: Work, app: AppRecord, caller: Caller): Promise<void> {
  const { id } = app;
  for (const deployment of await everyPage((span) => w.tx.page(deployments, "app", [id], span))) {
    await w.tx.remove(deployments, deployment.id);
    await w.tx.put(goneDeployments, { id: deployment.id, account_id: deployment.account_id });
    if (deployment.live_domain !== null) await w.tx.remove(domains, deployment.live_domain);
  }
  for (const source of await everyPage((span) => w.tx.page(dataSources, "app", [id], span)))
    await w.tx.put(dataSources, { ...source, app_id: null, updated_at: w.at });
  await recordEvent(w, caller.account, "app.deleted", eventObject(app));
}

const IN_EVENTS = decide("6.event-objects");

/** The app as the events about it hold it. */
const eventObject = (app: AppRecord) => Object.fromEntries(IN_EVENTS.map((field) => [field, app[field]]));
