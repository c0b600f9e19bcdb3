// Apps (spec parts 2 and 4). A change, its event and the deliveries of that event are one transaction. `expect` is the
// caller's precondition (If-Match), asked inside that transaction.
import { decide } from "../kit/decisions.ts";
import { changesOf, flag, type Infer, object, text, withDefault } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { EMITS, recordEvent } from "./events.ts";
import { everyPage, type Page, pageOf } from "./lists.ts";
import { type AppRecord, apps, dataSources, deployments, domains, goneDeployments } from "./model.ts";
import { type Expect, notFound, Refusal } from "./refusal.ts";
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

export const createApp = (unit: Unit, caller: Caller, draft: Infer<typeof appDraft>) =>
  unit.transact<AppRecord>(async (w) => {
    const app = await addApp(w, caller.account.id, draft);
    await recordEvent(w, caller.account, EMITS.createApp, appFields(app));
    return app;
  });

export async function addApp(
  w: Work,
  accountId: string,
  draft: Infer<typeof appDraft>,
  id?: string,
): Promise<AppRecord> {
  const app: AppRecord = {
    id: id ?? w.ids.next("app_"),
    title: draft.title,
    description: draft.description,
    theme: draft.theme,
    public: draft.public,
    created_at: w.at,
    updated_at: w.at,
    account_id: accountId,
  };
  await w.tx.put(apps, app);
  return app;
}

export async function getApp(reader: Reader, caller: Caller, id: string): Promise<AppRecord | Refusal> {
  const app = await reader.get(apps, id);
  return app?.account_id === caller.account.id ? app : notFound("app");
}

export const listApps = (
  reader: Reader,
  caller: Caller,
  shared: boolean | undefined,
  span: Span,
): Promise<Page<AppRecord>> =>
  shared === undefined
    ? pageOf(reader, apps, "account", [caller.account.id], span)
    : pageOf(reader, apps, "account_public", [caller.account.id, shared], span);

/** Changes the fields sent. Where nothing differs, nothing happens: no new updated_at, no event. */
export const changeApp = (
  unit: Unit,
  caller: Caller,
  id: string,
  changes: Infer<typeof appChanges>,
  expect: Expect<AppRecord>,
) =>
  unit.transact<AppRecord>(async (w) => {
    const app = await getApp(w.tx, caller, id);
    if (app instanceof Refusal) return app;
    const unmet = expect(app);
    if (unmet) return unmet;
    const changed: AppRecord = { ...app, ...changes, updated_at: w.at };
    if (sameApp(app, changed)) return app;
    await w.tx.put(apps, changed);
    await recordEvent(w, caller.account, EMITS.changeApp, appFields(changed));
    return changed;
  });

/** Removes the app with its deployments; its data sources stay, without an app. */
export const removeApp = (unit: Unit, caller: Caller, id: string, expect: Expect<AppRecord>) =>
  unit.transact<null>(async (w) => {
    const app = await getApp(w.tx, caller, id);
    if (app instanceof Refusal) return app;
    const unmet = expect(app);
    if (unmet) return unmet;
    const held = await everyPage((span) => w.tx.page(deployments, "app", [id], span));
    for (const deployment of held) {
      await w.tx.remove(deployments, deployment.id);
      await w.tx.put(goneDeployments, { id: deployment.id });
      if (deployment.live_domain !== null) await w.tx.remove(domains, deployment.live_domain);
    }
    for (const source of await everyPage((span) => w.tx.page(dataSources, "app", [id], span)))
      await w.tx.put(dataSources, { ...source, app_id: APP_GONE, updated_at: w.at });
    await w.tx.remove(apps, id);
    await recordEvent(w, caller.account, EMITS.removeApp, appFields(app));
    return null;
  });

const APP_GONE = decide("4.data-of-a-deleted-app", null, {
  open: "what becomes of the data sources of a deleted app",
  why: "data may be shared and is costly to load again, so it stays and belongs to no app",
});

/** The app as it stands in an answer and in an event. */
export const appFields = ({ id, title, description, theme, public: shared, created_at, updated_at }: AppRecord) => ({
  id,
  title,
  description,
  theme,
  public: shared,
  created_at,
  updated_at,
});

const sameApp = (a: AppRecord, b: AppRecord): boolean =>
  a.title === b.title && a.description === b.description && a.theme === b.theme && a.public === b.public;
