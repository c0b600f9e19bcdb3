// Apps (spec parts 2 and 4). A change, its event and the deliveries of that event are one transaction. `expect` is the
// caller's precondition (If-Match), asked inside that transaction.
import { decide } from "../kit/decisions.ts";
import { changesOf, flag, type Infer, object, text, withDefault } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { EMITS, recordEvent } from "./events.ts";
import { everyPage, pageOf } from "./lists.ts";
import { type AppRecord, apps, dataSources, deployments, domains, goneDeployments } from "./model.ts";
import { owned, shownFields } from "./owned.ts";
import type { Reader, Span } from "./store.ts";
import type { Unit, Work } from "./work.ts";

const RULES = decide(
  "2.app-fields",
  { title: { min: 1, max: 200, notBlank: true }, description: { max: 5_000 }, theme: { min: 1, max: 64 } },
  {
    open: "which fields of an app are required, and how long they may be",
    why: "only the title, which is what people know an app by; lengths count code points, as people count",
  },
);

export const appDraft = object({
  title: text(RULES.title),
  description: withDefault(
    text(RULES.description),
    decide("2.app-description-default", "", { open: "whether a description is required", why: "many apps need none" }),
  ),
  theme: withDefault(
    text(RULES.theme),
    decide("2.app-theme-default", "light", {
      open: "the allowed themes and whether one is required",
      why: "any name is kept, since the values are not shown; light is what most pages are",
    }),
  ),
  public: withDefault(
    flag,
    decide("2.app-public-default", false, {
      open: "whether public is required",
      why: "nothing is shown to strangers by omission",
    }),
  ),
});
export const appChanges = changesOf(appDraft);

type AppDraft = Infer<typeof appDraft>;

export const createApp = (unit: Unit, caller: Caller, draft: AppDraft) =>
  unit.transact<AppRecord>(async (w) => {
    const app = await addApp(w, caller.account.id, draft);
    await recordEvent(w, caller.account, EMITS.createApp, shownFields(app));
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
  await recordEvent(w, caller.account, EMITS.changeApp, shownFields(app));
  return app;
}

/** With the app go its deployments; its data sources stay, without an app. */
async function removing(w: Work, app: AppRecord, caller: Caller): Promise<void> {
  const { id } = app;
  for (const deployment of await everyPage((span) => w.tx.page(deployments, "app", [id], span))) {
    await w.tx.remove(deployments, deployment.id);
    await w.tx.put(goneDeployments, { id: deployment.id, account_id: deployment.account_id });
    if (deployment.live_domain !== null) await w.tx.remove(domains, deployment.live_domain);
  }
  for (const source of await everyPage((span) => w.tx.page(dataSources, "app", [id], span)))
    await w.tx.put(dataSources, { ...source, app_id: APP_GONE, updated_at: w.at });
  await recordEvent(w, caller.account, EMITS.removeApp, shownFields(app));
}

const APP_GONE = decide("4.data-of-a-deleted-app", null, {
  open: "what becomes of the data sources of a deleted app",
  why: "data may be shared and is costly to load again, so it stays and belongs to no app",
});
