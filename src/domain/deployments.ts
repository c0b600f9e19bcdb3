// Deployments of an app (spec parts 2 and 3; contract, parts 1 to 3): one is live in an environment, and a custom
// domain belongs to one app. Finds the site for an address and checks who may view it. Rendering is elsewhere.
import { decide } from "../former-decisions.ts";
import type { Infer } from "../lib/schema.ts";
import { appService as ofAccount } from "./apps.ts";
import { hasScope } from "./credentials.ts";
import { fail, invalidField, notFound } from "./errors.ts";
import { recordEvent } from "./events.ts";
import type { AccountRecord, DeploymentRecord } from "./model.ts";
import {
  accounts,
  apps,
  type deployment,
  deployments,
  deploymentTombstones,
  domains,
} from "./model.ts";
import type { Reader } from "./store.ts";
import type { TxContext, UnitOfWork } from "./unit-of-work.ts";
import type { SignedIn } from "./users.ts";
import { canonicalHostName } from "./validators.ts";

type DeployRequest = Infer<typeof deployment.createBody>;

/** Deploys the app to an environment. The same transaction retires the deployment that was live there. */
export const deploy = (
  unit: UnitOfWork,
  account: AccountRecord,
  app_id: string,
  request: DeployRequest,
  urls: SiteUrls,
) =>
  ofAccount.withRecord(unit, account, app_id, async (ctx, app) => {
    const { environment } = request;
    const domain = (request.custom_domain && canonicalHostName(request.custom_domain)) ?? null;
    if (domain !== null) {
      const holder = await ctx.tx.get(domains, domain);
      if (urls.isReservedHost(domain, !holder))
        return invalidField("#/custom_domain", "must not be this server's own host");
      const otherApp =
        holder && holder.app_id !== app_id && (await ctx.tx.get(apps, holder.app_id));
      if (otherApp)
        return fail({
          code: "domain_taken",
          detail: `${domain} is held by a live deployment of another app.`,
        });
    }
    const previous = await ctx.tx.find(deployments, "live", [app_id, environment]);
    if (previous) await retire(ctx, previous);
    const id = ctx.ids.next("dep_");
    const now = { status: "live", deployed_at: ctx.timestamp } as const;
    const of = { account_id: account.id, live_in: environment, live_domain: domain };
    const deployment: DeploymentRecord = {
      id,
      app_id,
      ...request,
      custom_domain: domain,
      ...now,
      ...of,
    };
    await ctx.tx.put(deployments, deployment);
    if (domain !== null) await ctx.tx.put(domains, { id: domain, app_id });
    const payload = {
      id: app.id,
      title: app.title,
      deployment: { id, url: urls.site(id), ...now },
    };
    await recordEvent(ctx, account, "app.deployed", payload);
    return deployment;
  });

/** URLs of deployed apps. `isReservedHost` takes a lower-case host name and whether no app holds it. */
export interface SiteUrls {
  site(deploymentId: string): string;
  isReservedHost(host: string, isFree: boolean): boolean;
}

/** Retires a deployment. Its domain becomes free unless another live deployment of the app holds it. */
async function retire(ctx: TxContext, deployment: DeploymentRecord): Promise<void> {
  const { app_id, live_domain: domain } = deployment;
  await ctx.tx.put(deployments, {
    ...deployment,
    status: STATUS_AFTER_REDEPLOY.live,
    live_in: null,
    live_domain: null,
  });
  if (domain !== null && (await ctx.tx.count(deployments, "live_domain", [app_id, domain])) === 0)
    await ctx.tx.remove(domains, domain);
}

const STATUS_AFTER_REDEPLOY = decide("3.redeploy");

export async function getDeployment(
  reader: Reader,
  account: AccountRecord,
  appId: string,
  id: string,
) {
  const found = await reader.get(deployments, id);
  const isOwn = found?.account_id === account.id && found.app_id === appId;
  return isOwn && (await reader.get(apps, appId)) ? found : notFound("deployment");
}

/** A live deployment with its app and account. */
export type Site = NonNullable<Awaited<ReturnType<typeof loadSite>>>;

const GONE_SITE = { gone: true, successor: undefined } as const;

/** Returns the live site, or `GONE_SITE` if it was live once; `successor` is the deployment that replaced it. */
export async function findSiteById(reader: Reader, id: string) {
  const deployment = await reader.get(deployments, id);
  if (deployment === undefined) return (await reader.get(deploymentTombstones, id)) && GONE_SITE;
  if (deployment.status === "live") return (await loadSite(reader, deployment)) ?? GONE_SITE;
  const next = await reader.find(deployments, "live", [deployment.app_id, deployment.environment]);
  return { ...GONE_SITE, successor: next && (await loadSite(reader, next)) };
}

/** Returns the site of a custom domain: the newest if several live deployments of the app use it. */
export async function findSiteByHost(reader: Reader, host: string): Promise<Site | undefined> {
  const held = [(await reader.get(domains, host))?.app_id ?? "", host];
  const count = await reader.count(deployments, "live_domain", held);
  const [newest] = await reader.page(deployments, "live_domain", held, {
    offset: Math.max(count - 1, 0),
    limit: 1,
  });
  if (newest) return loadSite(reader, newest);
  return count > 0 ? findSiteByHost(reader, host) : undefined; // one was retired meanwhile
}

async function loadSite(reader: Reader, deployment: DeploymentRecord) {
  const app = await reader.get(apps, deployment.app_id);
  const account = await reader.get(accounts, deployment.account_id);
  return app && account && { deployment, app, account };
}

/** Users who may read the app through the API may view its site. An anonymous visitor is asked to sign in. */
export function checkViewAccess(
  { app }: Site,
  signedIn: SignedIn | undefined,
): "yes" | "sign in" | "not yours" | "no" {
  if (app.public) return "yes";
  if (signedIn === undefined) return "sign in";
  if (signedIn.account.id !== app.account_id) return "not yours";
  return hasScope(signedIn.user.permissions, "read:apps") ? "yes" : "no";
}
