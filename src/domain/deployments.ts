// Deployments of an app (spec parts 2 and 3; contract, parts 1 to 3): one is live in an environment, and a custom
// domain belongs to one app. Finds the site for an address and checks who may view it. Rendering is elsewhere.
import type { Infer } from "../lib/schema.ts";
import { appService } from "./apps.ts";
import { hasScope } from "./credentials.ts";
import { fail, invalidField, notFound } from "./errors.ts";
import { recordEvent } from "./events.ts";
import type { AccountRecord, DeploymentRecord } from "./model.ts";
import { accounts, apps, type deployment, deployments, deploymentTombstones } from "./model.ts";
import { ALL_RECORDS, FIRST_RECORD, type Reader } from "./store.ts";
import type { UnitOfWork } from "./unit-of-work.ts";
import type { SignedIn } from "./users.ts";
import { toCanonicalHost } from "./validators.ts";

type DeployRequest = Infer<typeof deployment.createBody>;

/** URLs of deployed apps. `isReservedHost` takes a lower-case host name and whether no app holds it. */
export interface SiteUrls {
  site(deploymentId: string): string;
  isReservedHost(host: string, isFree: boolean): boolean;
}

/** A retired deployment holds neither its environment nor its domain. */
const RETIRED = { status: "retired", live_in: null, live_domain: null } as const;

/** Deploys the app to an environment. The same transaction retires the deployment that was live there. */
export const deploy = (
  unit: UnitOfWork,
  account: AccountRecord,
  app_id: string,
  request: DeployRequest,
  urls: SiteUrls,
) =>
  appService.withRecord(unit, account, app_id, async (ctx, { title }) => {
    const { tx } = ctx;
    const { name, environment } = request;
    const domain = (request.custom_domain && toCanonicalHost(request.custom_domain)) ?? null;
    if (domain !== null) {
      const [holder] = await tx.page(deployments, "live_domain", [domain], FIRST_RECORD);
      if (urls.isReservedHost(domain, !holder))
        return invalidField("#/custom_domain", "must not be this server's own host");
      if (holder && holder.app_id !== app_id)
        return fail({
          code: "domain_taken",
          detail: `${domain} is held by a live deployment of another app. Use another domain.`,
        });
    }
    const previous = await tx.find(deployments, "live", [app_id, environment]);
    if (previous) await tx.put(deployments, { ...previous, ...RETIRED });
    const id = ctx.ids.next("dep_");
    const status = "live";
    const deployed_at = ctx.timestamp;
    const record: DeploymentRecord = {
      id,
      app_id,
      name,
      environment,
      custom_domain: domain,
      status,
      deployed_at,
      account_id: account.id,
      live_in: environment,
      live_domain: domain,
    };
    await tx.put(deployments, record);
    await recordEvent(ctx, account, "app.deployed", {
      id: app_id,
      title,
      deployment: { id, url: urls.site(id), status, deployed_at },
    });
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

/** Returns the live site, or `gone` if it was live once; `successor` is the deployment that replaced it. */
export async function findSiteById(reader: Reader, id: string) {
  const deployment = await reader.get(deployments, id);
  if (deployment?.status === "live") return loadSite(reader, deployment);
  if (deployment === undefined) {
    const isDeleted = (await reader.get(deploymentTombstones, id)) !== undefined;
    return isDeleted ? { gone: true, successor: undefined } : undefined;
  }
  const { app_id, environment } = deployment;
  const next = await reader.find(deployments, "live", [app_id, environment]);
  return { gone: true, successor: next && (await loadSite(reader, next)) };
}

/** Returns the site of a custom domain: the newest if several live deployments of the app use it. */
export async function findSiteByHost(reader: Reader, host: string): Promise<Site | undefined> {
  const newest = (await reader.page(deployments, "live_domain", [host], ALL_RECORDS)).at(-1);
  return newest && loadSite(reader, newest);
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
