// Apps: what they are, where they are deployed, which data they show, and the form that deploys one.
import { listDataSourcesOf } from "../../domain/data-sources.ts";
import type { AppRecord, DeploymentRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import { blankForm, controls, type Form } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { DASHBOARD } from "../page.ts";
import { badge, cut, list, nothingYet, pager, row, time } from "../parts.ts";
import { dataSources } from "./data-sources.ts";
import { doneTo } from "./frame.ts";
import { type Resource, rowsOf } from "./resource.ts";
import { newest, type View } from "./view.ts";

const EXCERPT_MAX = 120;
const excerpt = (text: string): string => cut(text.trim().split("\n")[0] ?? "", EXCERPT_MAX);

const DEPLOY = {
  path: "/deploy",
  operation: "deployApp",
  done: "deployed",
  fields: {
    name: { label: "Name", hint: "What this deployment is, such as: Release 1" },
    environment: {
      label: "Environment",
      hint: "Deploying again to the same environment replaces what is live there.",
    },
    custom_domain: {
      label: "Custom domain",
      hint: "A host name that you point at this server, such as: sales.example.com",
    },
  },
} as const;

export const apps: Resource<AppRecord> = {
  path: `${DASHBOARD}/apps`,
  param: "app_id",
  place: "Apps",
  title: "Apps",
  list: "listApps",
  get: "getApp",
  create: { operation: "createApp", link: "New app", button: "Create app" },
  update: "updateApp",
  remove: {
    operation: "deleteApp",
    title: "Delete this app",
    button: "Delete for good",
    follows: ({ title }) =>
      html`<strong>${title}</strong> and its deployments are gone, their addresses answer that. Its data sources stay. This cannot be undone.`,
  },
  actions: [DEPLOY],
  fields: {
    title: { label: "Title" },
    description: { label: "Description", hint: "Shown above the charts." },
    theme: {
      label: "Theme",
      hint: html`<code>light</code> and <code>dark</code> are drawn so. Any other name is kept, and its pages follow the reader’s system.`,
    },
    public: {
      label: "Public: anybody with the address sees the app. Otherwise only signed-in users of this account do.",
    },
  },
  empty: ["No apps yet", "An app shows the data that you give it, at an address of its own. Make one, then deploy it."],
  name: ({ title }) => title,
  below: ({ description, updated_at }) =>
    html`${description.trim() !== "" && html`${excerpt(description)} · `}changed ${time(updated_at)}`,
  right: (app) => (app.public ? badge("public", "good") : badge("private")),
  facts: ({ theme, id, created_at, updated_at }) => [
    ["Theme", theme],
    ["Id", html`<code>${id}</code>`],
    ["Created", time(created_at)],
    ["Changed", time(updated_at)],
  ],
  more: async (
    view,
    app,
    refused,
  ) => html`${app.description !== "" && html`<p class="lead prose">${app.description}</p>`}
<h2 id="deployments">Deployments</h2>${await deploymentsOf(view, app)}
${view.may(DEPLOY.operation) && deployForm(view, app, refused)}
<h2>Data</h2>${await dataOf(view, app)}`,
};

async function deploymentsOf(view: View, { id }: AppRecord): Promise<Shown> {
  const found = await newest<DeploymentRecord>(view, "listDeployments");
  if (found instanceof Refusal) return null;
  if (found.total === 0)
    return nothingYet("Not deployed yet", "Deployed, it has an address. That takes the permission write:apps.");
  return html`${list(found.items.map((each) => deploymentRow(view, each)))}${pager(found, `${apps.path}/${id}`)}`;
}

function deploymentRow(
  view: View,
  { id, name, environment, custom_domain, status, deployed_at }: DeploymentRecord,
): Html {
  const url = view.links.site(id);
  const live = status === "live";
  return row({
    id,
    title: live ? html`<a href="${url}">${name}</a>` : name,
    below: html`<code>${environment}</code>${custom_domain !== null && html` · <code>${custom_domain}</code>`} · ${time(deployed_at)}${live && html`<br><span class="mono">${url}</span>`}`,
    right: badge(status, live ? "good" : "plain"),
    said: doneTo(view, id),
  });
}

function deployForm(view: View, { id }: AppRecord, refused: Form | undefined): Html {
  const schema = view.operations.body(DEPLOY.operation);
  return html`<details class="card"${refused && html` open`}><summary>Deploy</summary>
<form class="form" method="post" action="${apps.path}/${id}${DEPLOY.path}">${view.visit.csrfField}
${controls(refused ?? blankForm(schema), schema, DEPLOY.fields)}<button>Deploy</button></form></details>`;
}

/** As many as its page shows. */
const SHOWN = { offset: 0, limit: 100 };

async function dataOf(view: View, { id }: AppRecord): Promise<Shown> {
  if (!view.may("listDataSources"))
    return html`<p class="soft">Seeing its data sources takes the permission read:data.</p>`;
  const { items } = await listDataSourcesOf(view.unit.store, id, SHOWN);
  const add =
    view.may("createDataSource") &&
    html`<a class="button quiet" href="${dataSources.path}/new?app_id=${id}">Add data</a>`;
  if (items.length === 0)
    return nothingYet("No data yet", "Each data source of an app becomes a chart, or a table where none fits.", add);
  return html`${await rowsOf(dataSources, view, items)}${add}`;
}
