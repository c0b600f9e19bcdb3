// Apps and what users do in them (spec parts 2, 4 and 6). A change, its event and the deliveries of that event are one
// transaction.
import { decide } from "../decisions.ts";
import type { Infer, Schema } from "../kit/schema.ts";
import { changesOf, flag, fromText, nullable, object, optional, orNumber, text, withDefault } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { recordEvent } from "./events.ts";
import { everyPage, owned, pageOf, shownFields, spanParameters } from "./lists.ts";
import { type AppRecord, apps, dataSources, deployments, domains, goneDeployments } from "./model.ts";
import { Refusal } from "./refusal.ts";
import type { Reader } from "./store.ts";
import type { Seeded, Unit, Work } from "./work.ts";

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

type AppDraft = Seeded<Infer<typeof appDraft>>;

export async function addApp({ tx, ids, at }: Work, account_id: string, draft: AppDraft) {
  const { id = ids.next("app_"), title, description, theme, public: shared } = draft;
  const app: AppRecord = { id, title, description, theme, public: shared, created_at: at, updated_at: at, account_id };
  await tx.put(apps, app);
  return app;
}

export const appQuery = object({ ...spanParameters, public: optional(fromText(flag)) });
type AppQuery = Infer<typeof appQuery>;

const listApps = (reader: Reader, caller: Caller, { public: shared, ...span }: AppQuery) =>
  pageOf(reader, apps, shared === undefined ? "account" : "account_public", [caller.account.id, shared], span);

const all = owned(apps, "app", { adding, changing, removing });
export const own = { ...all, list: listApps };
export const getApp = all.get;

async function adding(w: Work, account_id: string, draft: AppDraft, { account }: Caller) {
  const app = await addApp(w, account_id, draft);
  await recordEvent(w, account, "app.created", shownFields(app));
  return app;
}

async function changing(w: Work, after: AppRecord, _before: AppRecord, caller: Caller): Promise<AppRecord> {
  const app = { ...after, updated_at: w.at };
  await recordEvent(w, caller.account, "app.updated", shownFields(app));
  return app;
}

const LEFT_OF_IT = decide("6.event-objects");

/** With the app go its deployments; its data sources, which may be shared and costly to load, stay without an app. */
async function removing(w: Work, app: AppRecord, { account }: Caller): Promise<void> {
  const { id } = app;
  for (const deployment of await everyPage((span) => w.tx.page(deployments, "app", [id], span))) {
    await w.tx.remove(deployments, deployment.id);
    await w.tx.put(goneDeployments, { id: deployment.id, account_id: deployment.account_id });
    if (deployment.live_domain !== null) await w.tx.remove(domains, deployment.live_domain);
  }
  for (const source of await everyPage((span) => w.tx.page(dataSources, "app", [id], span)))
    await w.tx.put(dataSources, { ...source, app_id: null, updated_at: w.at });
  const left = Object.fromEntries(LEFT_OF_IT.map((field) => [field, app[field]]));
  await recordEvent(w, account, "app.deleted", left);
}

const coordinate = withDefault(nullable(orNumber(text({ max: 1_000 }))), null);
/** The user may be anybody, and any type is taken, since the one that is shown is only an observed one. */
export const interaction = object({
  user_id: text({ min: 1, max: 200 }),
  interaction_type: text({ min: 1, max: 64 }),
  chart_id: withDefault(nullable(text({ max: 200 })), null),
  data_point: withDefault(nullable(object({ x: coordinate, y: coordinate, category: coordinate })), null),
});

/** Records that a user did something in the app: an event and nothing else. */
export const interact = (unit: Unit, caller: Caller, app_id: string, done: Infer<typeof interaction>) =>
  unit.transact(async (w) => {
    const app = await getApp(w.tx, caller, app_id);
    return app instanceof Refusal ? app : recordEvent(w, caller.account, "user.interaction", { app_id, ...done });
  });
