// Deployments of an app (spec parts 2 and 3; contract, parts 1 to 3): one is live in an environment, and a custom
// domain belongs to one app. Finds the site for an address and checks who may view it. Rendering is elsewhere.
import type { Infer } from "../lib/schema.ts";
import { appService } from "./apps.ts";
import { hasScope } from "./credentials.ts";
import { fail, invalidField, notFound } from "./errors.ts";
import { recordEvent } from "./events.ts";
import type { AccountRecord, DeploymentRecord } from "./model.ts";
import { accounts, apps, type deployment, deployments } from "./model.ts";
import { ALL_RECORDS, FIRST_RECORD, type Reader } from "./store.ts";
import type { UnitOfWork } from "./unit-of-work.ts";
import type { SignedIn } from "./users.ts";
import { toCanonicalHost } from "./validators.ts";

/** URLs of deployed apps. `isOwnHost` takes a lower-case host name. */
interface SiteUrls {
  site(deploymentId: string): string;
  isOwnHost(host: string): boolean;
}

/** Deploys the app to an environment. The same transaction retires the deployment that was live there. */
export const deploy = (
  unit: UnitOfWork,
  account: AccountRecord,
  app_id: string,
  request: Infer<typeof deployment.createBody>,
  urls: SiteUrls,
) =>
  appService.withRecord(unit, account, app_id, async (ctx, { title }) => {
    const { tx, timestamp: deployed_at } = ctx;
    const { environment, custom_domain } = request;
    const domain = custom_domain && (toCanonicalHost(custom_domain) ?? null);
    if (domain !== null) {
      if (urls.isOwnHost(domain))
        return invalidField("#/custom_domain", "must not be this server's own host");
      const [holder] = await tx.page(deployments, "live_domain", [domain], FIRST_RECORD);
      if (holder && holder.app_id !== app_id)
        return fail({
          code: "domain_taken",
          detail: `${domain} is held by a live deployment of another app. Use another domain.`,
        });
    }
    const previous = await tx.find(deployments, "live", [app_id, environment]);
    if (previous)
      await tx.put(deployments, {
        ...previous,
        status: "retired",
        live_in: null,
        live_domain: null,
      });
    const id = ctx.ids.next("dep_");
    const status = "live";
    const record: DeploymentRecord = {
      id,
      app_id,
      ...request,
      custom_domain: domain,
      status,
      deployed_at,
      account_id: account.id,
      live_in: environment,
      live_domain: domain,
    };
    await tx.put(deployments, record);
    await recordEvent(ctx, "app.deployed", {
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

export async function findSiteById(reader: Reader, id: string) {
  return loadSite(reader, await reader.get(deployments, id));
}

/** Returns the site of a custom domain: the newest if several live deployments of the app use it. */
export async function findSiteByHost(reader: Reader, host: string) {
  const live = await reader.page(deployments, "live_domain", [host], ALL_RECORDS);
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
  signedIn: SignedIn | undefined,
): "yes" | "sign in" | "not yours" | "no" {
  if (app.public) return "yes";
  if (signedIn === undefined) return "sign in";
  if (signedIn.account.id !== app.account_id) return "not yours";
  return hasScope(signedIn.user.permissions, "read:apps") ? "yes" : "no";
}
