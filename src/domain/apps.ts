// Apps and their deployments (spec parts 2, 3, 4). A change, its event and the deliveries of that event are one
// transaction. `expect` is the caller's precondition (If-Match), asked inside that transaction.
import { decide } from "../kit/decisions.ts";
import { anyOf, changesOf, flag, type Infer, nullable, number, object, text, withDefault } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { recordEvent } from "./events.ts";
import { hostName } from "./host-name.ts";
import { type Page, pageOf } from "./lists.ts";
import {
  type AppRecord,
  apps,
  type DeploymentRecord,
  dataSources,
  deployments,
  domains,
  type EventRecord,
} from "./model.ts";
import { invalidField, notFound, Refusal, refuse } from "./refusal.ts";
import type { Reader, Span } from "./store.ts";
import type { Unit, Work } from "./work.ts";

export type { AppRecord } from "./model.ts";

export type Expect<R> = (record: R) => Refusal | undefined;

export const appDraft = object({
  title: text({ min: 1, max: 200, notBlank: true }),
  description: withDefault(
    text({ max: 5_000 }),
    decide("2.app-description-default", "", { open: "whether a description is required", why: "many apps need none" }),
  ),
  theme: withDefault(
    text({ min: 1, max: 64 }),
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

export const deployRequest = object({
  name: text({ min: 1, max: 100 }),
  custom_domain: withDefault(nullable(hostName), null),
  environment: withDefault(
    text({
      min: 1,
      max: 63,
      pattern: /^[a-z0-9][a-z0-9-]{0,62}$/,
      says: "lower-case letters, digits and hyphens, not starting with a hyphen",
    }),
    decide("2.default-environment", "production", {
      open: "the allowed environments and whether one is required",
      why: "any slug is an environment; whoever names none means the one that users see",
    }),
  ),
});

const coordinate = withDefault(
  nullable(anyOf<string | number>([text({ max: 1_000 }), number], "must be a string, a number or null")),
  null,
);
export const interaction = object({
  user_id: text({ min: 1, max: 200 }),
  interaction_type: text({ min: 1, max: 64 }),
  chart_id: withDefault(nullable(text({ max: 200 })), null),
  data_point: withDefault(nullable(object({ x: coordinate, y: coordinate, category: coordinate })), null),
});

export const createApp = (unit: Unit, caller: Caller, draft: Infer<typeof appDraft>) =>
  unit.transact<AppRecord>(async (w) => {
    const app = await addApp(w, caller.account.id, draft);
    await recordEvent(w, caller.account, "app.created", appFields(app));
    return app;
  });

export async function addApp(
  w: Work,
  accountId: string,
  draft: Infer<typeof appDraft>,
  id?: string,
): Promise<AppRecord> {
  const { title, description, theme } = draft;
  const at = { created_at: w.at, updated_at: w.at };
  const app = {
    id: id ?? w.ids.next("app_"),
    title,
    description,
    theme,
    public: draft.public,
    ...at,
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
    await recordEvent(w, caller.account, "app.updated", appFields(changed));
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
      if (deployment.live_domain !== null) await w.tx.remove(domains, deployment.live_domain);
    }
    for (const source of await everyPage((span) => w.tx.page(dataSources, "app", [id], span)))
      await w.tx.put(dataSources, { ...source, app_id: APP_GONE, updated_at: w.at });
    await w.tx.remove(apps, id);
    await recordEvent(w, caller.account, "app.deleted", appFields(app));
    return null;
  });

const APP_GONE = decide("4.data-of-a-deleted-app", null, {
  open: "what becomes of the data sources of a deleted app",
  why: "data may be shared and is costly to load again, so it stays and belongs to no app",
});

/** Puts the app live in the environment; the deployment that was live there is retired by the same commit. */
export const deploy = (unit: Unit, caller: Caller, appId: string, request: Infer<typeof deployRequest>, links: Links) =>
  unit.transact<DeploymentRecord>(async (w) => {
    const app = await getApp(w.tx, caller, appId);
    if (app instanceof Refusal) return app;
    const { custom_domain: domain, environment } = request;
    if (domain !== null && domain === links.host())
      return invalidField("#/custom_domain", "must not be this server's own host");
    const holder = domain === null ? undefined : await w.tx.get(domains, domain);
    if (domain !== null && holder && holder.app_id !== appId) return refuse({ code: "domain_taken", domain });
    const before = await w.tx.find(deployments, "live", [appId, environment]);
    if (before) await retire(w, before);
    const deployment: DeploymentRecord = {
      id: w.ids.next("dep_"),
      app_id: appId,
      name: request.name,
      environment,
      custom_domain: domain,
      status: "live",
      deployed_at: w.at,
      account_id: caller.account.id,
      live_in: environment,
      live_domain: domain,
    };
    await w.tx.put(deployments, deployment);
    if (domain !== null) await w.tx.put(domains, { id: domain, app_id: appId });
    const { id, status, deployed_at } = deployment;
    const shown = { id, url: links.site(id), status, deployed_at };
    await recordEvent(w, caller.account, "app.deployed", { id: app.id, title: app.title, deployment: shown });
    return deployment;
  });

/** Where deployed apps are reached; the server's own host name, in lower case. */
export interface Links {
  site(deploymentId: string): string;
  host(): string;
}

/** Its domain becomes free unless another live deployment of the app holds it. */
async function retire(w: Work, deployment: DeploymentRecord): Promise<void> {
  const domain = deployment.live_domain;
  await w.tx.put(deployments, { ...deployment, status: ON_REDEPLOY, live_in: null, live_domain: null });
  if (domain !== null && (await w.tx.count(deployments, "live_domain", [domain])) === 0)
    await w.tx.remove(domains, domain);
}

const ON_REDEPLOY = decide("3.redeploy", "retired", {
  open: "deployment statuses other than live, and the transitions",
  why: "one deployment is live in an environment; the one before it stays readable and says that it is over",
});

export async function getDeployment(
  reader: Reader,
  caller: Caller,
  appId: string,
  id: string,
): Promise<DeploymentRecord | Refusal> {
  const deployment = await reader.get(deployments, id);
  return deployment?.account_id === caller.account.id && deployment.app_id === appId
    ? deployment
    : notFound("deployment");
}

export const listDeployments = (reader: Reader, appId: string, span: Span): Promise<Page<DeploymentRecord>> =>
  pageOf(reader, deployments, "app", [appId], span);

/** Records that a user did something in the app. */
export const interact = (unit: Unit, caller: Caller, appId: string, done: Infer<typeof interaction>) =>
  unit.transact<EventRecord>(async (w) => {
    const app = await getApp(w.tx, caller, appId);
    if (app instanceof Refusal) return app;
    return recordEvent(w, caller.account, "user.interaction", { app_id: appId, ...done });
  });

/** The app as it stands in an answer and in an event. */
export function appFields(app: AppRecord) {
  const { account_id: _, ...fields } = app;
  return fields;
}

const sameApp = (a: AppRecord, b: AppRecord): boolean =>
  a.title === b.title && a.description === b.description && a.theme === b.theme && a.public === b.public;

const CHUNK = 500;

/** All items of a list, a chunk at a time. */
export async function everyPage<R>(read: (span: Span) => Promise<readonly R[]>): Promise<R[]> {
  const all: R[] = [];
  for (let offset = 0; ; offset += CHUNK) {
    const items = await read({ offset, limit: CHUNK });
    all.push(...items);
    if (items.length < CHUNK) return all;
  }
}
