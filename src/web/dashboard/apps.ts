// Apps: what they are, where they are deployed, and which data they show.
import { listDataSourcesOf } from "../../domain/data-sources.ts";
import type { AppRecord, DeploymentRecord } from "../../domain/model.ts";
import { html, type Shown } from "../html.ts";
import { badge, cut, nothingYet, time } from "../parts.ts";
import { dataSources } from "./data-sources.ts";
import { PATHS } from "./frame.ts";
import { listing, type Resource, rowsOf } from "./resource.ts";
import type { View } from "./view.ts";

const EXCERPT_MAX = 120;

export const apps: Resource<AppRecord> = {
  noun: "App",
  one: "app",
  param: "app_id",
  place: "Apps",
  make: "Create app",
  edit: "Edit",
  lost: "Its deployments go with it, and their addresses say so. Its data sources stay. This cannot be undone.",
  actions: [
    {
      path: "/deploy",
      operation: "deployApp",
      button: "Deploy",
      done: "deployed",
      makes: "/deployments",
      fields: {
        name: { label: "Name", hint: "What this deployment is, such as: Release 1" },
        environment: { label: "Environment", hint: "Deploying again to the same one replaces what is live there." },
        custom_domain: { label: "Custom domain", hint: "A host name that you point at this server." },
      },
    },
  ],
  fields: {
    title: { label: "Title" },
    description: { label: "Description", hint: "Shown above the charts." },
    theme: { label: "Theme", hint: "light, dark, or any other name: then its pages follow the reader’s system." },
    public: { label: "Public: anybody with the address sees it. Otherwise only users of this account do." },
  },
  empty: [
    "No apps yet",
    "An app shows the data that you give it, at an address of its own. Making one takes write:apps.",
  ],
  name: ({ title }) => title,
  below: ({ description, updated_at }) =>
    html`${cut(description.trim().split("\n")[0] ?? "", EXCERPT_MAX)} · changed ${time(updated_at)}`,
  right: (app) => (app.public ? badge("public", "good") : badge("private")),
  more: async (view, app) => html`<h2>Deployments</h2>${await listing(deployments, view, `${PATHS.Apps}/${app.id}`)}
<h2>Data</h2>${await dataOf(view, app)}`,
};

export const deployments: Resource<DeploymentRecord> = {
  noun: "Deployment",
  one: "deployment",
  param: "deployment_id",
  place: "Apps",
  within: "/{app_id}/deployments",
  empty: ["Not deployed yet", "Deployed, it has an address. Deploying takes write:apps."],
  name: ({ name }) => name,
  below: ({ environment, custom_domain, deployed_at }) =>
    html`<code>${environment}</code>${custom_domain !== null && html` · <code>${custom_domain}</code>`} · ${time(deployed_at)}`,
  right: ({ id, status }, { links }) =>
    html`${status === "live" && html`<a href="${links.site(id)}">Open</a>`} ${badge(status, status === "live" ? "good" : "plain")}`,
};

/** As many as its page shows. */
const SHOWN = { offset: 0, limit: 100 };

async function dataOf(view: View, { id }: AppRecord): Promise<Shown> {
  if (!view.may("listDataSources")) return html`<p class="soft">Seeing its data takes the permission read:data.</p>`;
  const { items } = await listDataSourcesOf(view.unit.store, id, SHOWN);
  const add =
    view.may("createDataSource") &&
    html`<p><a class="button quiet" href="${PATHS["Data sources"]}/new?app_id=${id}">Add data</a></p>`;
  return html`${items.length > 0 ? await rowsOf(dataSources, view, items) : nothingYet("No data yet", "Each data source becomes a chart, or a table where none fits.")}${add}`;
}
