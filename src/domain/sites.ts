// Which deployed app an address leads to (spec part 2: url and custom_domain of a deployment; contract, parts 1 and 3), and
// who may see it. How it looks is not known here.
import { allows } from "./access.ts";
import {
  type AccountRecord,
  type AppRecord,
  accounts,
  apps,
  type DeploymentRecord,
  deployments,
  goneDeployments,
} from "./model.ts";
import type { SignedIn } from "./sessions.ts";
import type { Reader } from "./store.ts";

/** A deployment that is live, with its app and the account that owns both. */
export interface Site {
  readonly deployment: DeploymentRecord;
  readonly app: AppRecord;
  readonly account: AccountRecord;
}

/** It was there once. `successor` is live in its place where there is one. */
export interface FormerSite {
  readonly gone: true;
  readonly successor: Site | undefined;
}

export async function siteOf(reader: Reader, deploymentId: string): Promise<Site | FormerSite | undefined> {
  const deployment = await reader.get(deployments, deploymentId);
  if (deployment === undefined) {
    const former = await reader.get(goneDeployments, deploymentId);
    return former && { gone: true, successor: undefined };
  }
  if (deployment.status === "live") return whole(reader, deployment);
  const next = await reader.find(deployments, "live", [deployment.app_id, deployment.environment]);
  return { gone: true, successor: next && (await whole(reader, next)) };
}

/** The site under a custom domain: the newest where the app has several live deployments under it. */
export async function siteAt(reader: Reader, host: string): Promise<Site | undefined> {
  const count = await reader.count(deployments, "live_domain", [host]);
  const newest = { offset: Math.max(count - 1, 0), limit: 1 };
  const [deployment] = await reader.page(deployments, "live_domain", [host], newest);
  return deployment && whole(reader, deployment);
}

async function whole(reader: Reader, deployment: DeploymentRecord): Promise<Site | undefined> {
  const app = await reader.get(apps, deployment.app_id);
  const account = await reader.get(accounts, deployment.account_id);
  return app && account && { deployment, app, account };
}

/** Whoever may read the app through the API may look at it, too. Where nobody is signed in, signing in may help. */
export function mayView({ app }: Site, signedIn: SignedIn | undefined): "yes" | "sign in" | "not yours" | "no" {
  if (app.public) return "yes";
  if (signedIn === undefined) return "sign in";
  if (signedIn.account.id !== app.account_id) return "not yours";
  return allows(new Set(signedIn.user.permissions), "read:apps") ? "yes" : "no";
}
