// What an account holds beside events. Apps: what they are, where they are deployed, and the data that they show: upload (a
// file or pasted text), what became of it, and a preview of its rows. And who may do what: the users with their permissions
// (the scopes of the specification's part 5), the keys of the API, and the applications that may ask users for access.
import { listDataSourcesOf } from "../../domain/data-sources.ts";
import { LIMIT_MAX, type Page } from "../../domain/lists.ts";
import type * as model from "../../domain/model.ts";
import { invalidField, Refusal } from "../../domain/refusal.ts";
import { html, type Shown } from "../html.ts";
import { badge, link, nothingYet, soft, table } from "../parts.ts";
import { facts, listing, type Resource, rowsOf } from "./resource.ts";
import { operationAt, PATHS, type View } from "./view.ts";

export const apps: Resource<model.AppRecord> = {
  path: "/apps/{app_id}",
  place: "Apps",
  lost: "Its deployments go with it, and their addresses say so. Its data sources stay. This cannot be undone.",
  hints: {
    theme: "light, dark, or any other name: then its pages follow the reader’s system.",
    public: "Anybody with the address sees it. Otherwise only users of this account do.",
    environment: "Deploying again to the same one replaces what is live there.",
    custom_domain: "A host name that you point at this server.",
  },
  empty: "An app shows the data that you give it, at an address of its own. Making one takes write:apps.",
  name: ({ title }) => title,
  below: facts("public", "updated_at"),
  more: async (view, app) => html`<h2>Deployments</h2>${await listing(deployments, view)}
<h2>Data</h2>${await dataOf(view, app)}`,
};

export const deployments: Resource<model.DeploymentRecord> = {
  path: "/apps/{app_id}/deployments/{deployment_id}",
  place: "Apps",
  empty: "Deployed, it has an address. Deploying takes write:apps.",
  name: ({ name }) => name,
  below: facts("environment", "custom_domain", "deployed_at"),
  right: ({ id, status }, { links }) => [status === "live" && link(links.site(id), "Open"), badge(status)],
};

async function dataOf(view: View, { id }: model.AppRecord): Promise<Shown> {
  if (!view.may(operationAt("GET /data-sources"))) return soft("Seeing its data takes the permission read:data.");
  const { items } = await listDataSourcesOf(view.store, id, { offset: 0, limit: LIMIT_MAX });
  const add = link(`${PATHS["Data sources"]}/new?app_id=${id}`, "Add data", "button quiet");
  return [await rowsOf(dataSources, view, items), view.may(operationAt("POST /data-sources")) && add];
}

export const dataSources: Resource<model.DataSourceRecord> = {
  path: "/data-sources/{data_source_id}",
  place: "Data sources",
  lost: "Its rows are gone, and the app that draws them draws them no more. This cannot be undone.",
  hints: { data: "CSV with a header line, or a JSON array of flat objects; at most 10 MiB." },
  choices: async (view) => ({
    app_id: [["", "none"], ...(await appsOf(view))],
    type: ["csv", "json"].map((type) => [type, type.toUpperCase()]),
  }),
  draft,
  empty: "A data source is a table, written in CSV or JSON. An app that it is given to draws it.",
  name: ({ name }) => name,
  below: facts("type", "row_count", "created_at"),
  more: preview,
};

async function appsOf(view: View): Promise<readonly (readonly [string, string])[]> {
  const found = await view.ask<Page<model.AppRecord>>(operationAt("GET /apps"), { query: { limit: LIMIT_MAX } });
  return found instanceof Refusal ? [] : found.items.map(({ id, title }) => [id, title]);
}

/** The body of POST /data-sources holds JSON as it is, or CSV as text. */
function draft(sent: Record<string, unknown>): Record<string, unknown> | Refusal {
  const { type, data } = sent;
  if (type !== "json" || typeof data !== "string") return sent;
  try {
    return { ...sent, data: JSON.parse(data) };
  } catch (error) {
    return invalidField("#/data", `is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function preview(view: View, { status, error, columns, app_id }: model.DataSourceRecord): Promise<Shown> {
  if (status === "processing") return nothingYet("Still being processed", "Without the script, load the page again.");
  if (error !== null)
    return nothingYet("It could not be processed", `${error} Correct the data and upload them again.`);
  const found = await view.ask<Page<model.Row>>(operationAt("GET /data-sources/{data_source_id}/rows"));
  if (found instanceof Refusal || columns === null) return null;
  return html`${app_id !== null && link(`${PATHS.Apps}/${app_id}`, "To the app that draws it")}
<h2>Rows</h2><div class="card">${table(columns, found.items, found.total, true)}</div>`;
}

export const users: Resource<model.UserRecord> = {
  path: "/users/{user_id}",
  place: "Users",
  lost: "They are signed out, and every application that acts for them is refused. This cannot be undone.",
  once: ["Their sign-in link", "It works once, for 15 minutes. Later they ask for one at the sign-in page."],
  empty: "Whoever is added can sign in here.",
  name: ({ name, email }) => name || email,
  below: facts("email", "permissions", "created_at"),
};

const COPY = "Copy it now: only its hash is kept, so it is never shown again.";

export const apiKeys: Resource<model.ApiKeyRecord> = {
  path: "/api-keys/{key_id}",
  place: "API Keys",
  lost: "Whatever uses this key is refused at once. This cannot be undone.",
  once: ["The key", COPY],
  lead: "A key opens the whole account. Keep it out of code that others can read, in an environment variable, and replace it now and then.",
  empty: "Without one, only OAuth access tokens open the API.",
  name: ({ name }) => name,
  below: facts("last_four", "created_at", "last_used_at"),
};

export const oauthApps: Resource<model.OAuthClientRecord> = {
  path: "/oauth-clients/{client_id}",
  place: "OAuth apps",
  lost: "It can ask nobody any more, and every token that it holds stops working at once.",
  once: ["Its client_secret", COPY],
  hints: {
    redirect_uris: "One a line: where users come back to. https, or http to this machine.",
    public: "It runs where a secret cannot be kept (a browser, a phone) and has PKCE instead of one.",
  },
  lead: "Applications that act for users of this account, as far as each user allows it.",
  empty: "Register an application here before it sends users to ask for access.",
  name: ({ name }) => name,
  below: facts("public", "scopes", "created_at"),
};
