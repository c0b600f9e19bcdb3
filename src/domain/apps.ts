// Apps, their deployments and user interactions (spec parts 2, 3, 4 and 6; 3.redeploy, 3.custom-domain). A change, its
// event and that event's deliveries share one transaction. One deployment is live in an environment, and a custom
// domain belongs to one app. Finds the site for an address and checks who may view it. Rendering is elsewhere.
import {
  boolean,
  coerce,
  type Infer,
  nullable,
  object,
  optional,
  pickMembers,
  stringOrNumber,
  text,
  withDefault,
} from "../lib/schema.ts";
import { hasScope } from "./credentials.ts";
import { createCrudService, paginate, paginationParameters, toNewRecord } from "./crud.ts";
import { appError, type FieldError, notFound } from "./errors.ts";
import { recordEvent } from "./events.ts";
import {
  type AccountRecord,
  accounts,
  app,
  apps,
  type DeploymentRecord,
  dataSources,
  type deployment,
  deployments,
} from "./model.ts";
import { ALL_RECORDS, FIRST_RECORD, type Reader } from "./store.ts";
import type { AccountContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";
import type { SessionUser } from "./users.ts";
import { toCanonicalHost } from "./validators.ts";

/** Smallest valid create body, shown to new users. */
export const EXAMPLE_APP = { title: "My first app" };

export const appQuery = object({ ...paginationParameters, public: optional(coerce(boolean)) });

export const listApps = (
  reader: Reader,
  { id }: AccountRecord,
  { public: isPublic, ...range }: Infer<typeof appQuery>,
) => {
  const index = isPublic === undefined ? "account" : "account_public";
  return paginate(reader, apps, index, [id, isPublic], range);
};

export async function createApp(
  ctx: AccountContext,
  draft: WithOptionalId<Infer<typeof app.createBody>>,
) {
  const record = toNewRecord(ctx, "app_", draft);
  await ctx.tx.put(apps, record);
  await recordEvent(ctx, "app.created", pickMembers(app.response, record));
  return record;
}

export const appService = createCrudService(apps, "app", app, {
  onCreate: createApp,

  async onUpdate(ctx, after) {
    await recordEvent(ctx, "app.updated", pickMembers(app.response, after));
    return after;
  },

  /** Deletes the app's deployments, which frees their domains, and detaches its data sources, which may be shared. */
  async onDelete(ctx, deletedApp) {
    const { tx, timestamp } = ctx;
    for (const { id } of await tx.page(deployments, "app", [deletedApp.id], ALL_RECORDS))
      await tx.remove(deployments, id);
    for (const source of await tx.page(dataSources, "app", [deletedApp.id], ALL_RECORDS))
      await tx.put(dataSources, { ...source, app_id: null, updated_at: timestamp });
    await recordEvent(ctx, "app.deleted", pickMembers(app.response, deletedApp));
  },
});

const coordinate = withDefault(nullable(stringOrNumber(text({ max: 1_000 }))), null);
export const dataPoint = object({ x: coordinate, y: coordinate, category: coordinate });
/** Accepts any user and any interaction type, because the specification's type is only an example. */
export const interactionBody = object({
  user_id: text({ min: 1, max: 200 }),
  interaction_type: text({ min: 1, max: 64 }),
  chart_id: withDefault(nullable(text({ max: 200 })), null),
  data_point: withDefault(nullable(dataPoint), null),
});

/** Records an interaction of a user with the app as an event, without other changes. */
export const recordInteraction = (
  unitOfWork: UnitOfWork,
  account: AccountRecord,
  app_id: string,
  interaction: Infer<typeof interactionBody>,
) =>
  appService.withRecord(unitOfWork, account, app_id, (ctx) =>
    recordEvent(ctx, "user.interaction", { app_id, ...interaction }),
  );

/** URLs of deployed apps. `isOwnHost` takes a lower-case host name. */
interface SiteUrls {
  site(deploymentId: string): string;
  isOwnHost(host: string): boolean;
}

/** Returns the error if the custom domain of a deployment is the server's own host. */
export function findOwnHostError(
  { custom_domain }: Partial<Infer<typeof deployment.createBody>>,
  urls: SiteUrls,
): readonly FieldError[] {
  const domain = custom_domain && toCanonicalHost(custom_domain);
  return domain && urls.isOwnHost(domain)
    ? [{ pointer: "#/custom_domain", detail: "must not be this server's own host" }]
    : [];
}

/** Deploys the app to an environment. The same transaction retires the deployment that was live there. */
export const deploy = (
  unitOfWork: UnitOfWork,
  account: AccountRecord,
  app_id: string,
  request: Infer<typeof deployment.createBody>,
  urls: SiteUrls,
) =>
  appService.withRecord(unitOfWork, account, app_id, async (ctx, { title }) => {
    const { tx } = ctx;
    const { environment, custom_domain } = request;
    const domain = custom_domain && (toCanonicalHost(custom_domain) ?? null);
    if (domain !== null) {
      const [holder] = await tx.page(deployments, "domain", [domain, "live"], FIRST_RECORD);
      if (holder && holder.app_id !== app_id)
        return appError({
          code: "domain_taken",
          detail: `${domain} is held by a live deployment of another app. Use another domain.`,
        });
    }
    const place = [app_id, environment, "live"];
    for (const previous of await tx.page(deployments, "environment", place, ALL_RECORDS))
      await tx.put(deployments, { ...previous, status: "retired" });
    const record: DeploymentRecord = {
      ...request,
      id: ctx.ids.next("dep_"),
      app_id,
      account_id: account.id,
      custom_domain: domain,
      status: "live",
      deployed_at: ctx.timestamp,
    };
    await tx.put(deployments, record);
    const { id, status, deployed_at } = record;
    const deployment = { id, url: urls.site(id), status, deployed_at };
    await recordEvent(ctx, "app.deployed", { id: app_id, title, deployment });
    return record;
  });

export async function getDeployment(
  reader: Reader,
  account: AccountRecord,
  appId: string,
  id: string,
) {
  const found = await reader.get(deployments, id);
  return found?.account_id === account.id && found.app_id === appId
    ? found
    : notFound("deployment");
}

/** A live deployment with its app and account. */
export type Site = NonNullable<Awaited<ReturnType<typeof loadSite>>>;

export async function findSiteById(reader: Reader, id: string) {
  return loadSite(reader, await reader.get(deployments, id));
}

/** Returns the site of a custom domain: the newest if several live deployments of the app use it. */
export async function findSiteByHost(reader: Reader, host: string) {
  const live = await reader.page(deployments, "domain", [host, "live"], ALL_RECORDS);
  return loadSite(reader, live.at(-1));
}

async function loadSite(reader: Reader, deployment: DeploymentRecord | undefined) {
  const app = deployment?.status === "live" && (await reader.get(apps, deployment.app_id));
  const account = app && (await reader.get(accounts, app.account_id));
  return account ? { deployment, app, account } : undefined;
}

/** Users who may read the app through the API may view its site. An anonymous visitor is asked to sign in. */
export function checkViewAccess(
  { app }: Site,
  signedIn: SessionUser | undefined,
): "yes" | "sign in" | "not yours" | "no" {
  if (app.public) return "yes";
  if (signedIn === undefined) return "sign in";
  if (signedIn.account.id !== app.account_id) return "not yours";
  return hasScope(signedIn.user.permissions, "read:apps") ? "yes" : "no";
}
