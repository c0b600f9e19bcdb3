// One app: what it is, what data it shows, where it is deployed, and the form that deploys it.

import { listDataSourcesOf } from "../../domain/data-sources.ts";
import { deploy, deployRequest, listDeployments } from "../../domain/deployments.ts";
import { LIMIT_MAX } from "../../domain/lists.ts";
import type { AppRecord, DeploymentRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import { checked, type Form, formFault, formOf, input, refusedForm } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, danger, facts, head, list, nothingYet, pager, row, time } from "../parts.ts";
import { appPath, visibility, withApp } from "./apps.ts";
import { sourceRow } from "./data-sources.ts";
import { framed, refusedPage } from "./frame.ts";
import { type DashboardRow, newest, type View } from "./view.ts";

async function appPage(view: View, app: AppRecord, form: Form, status = 200): Promise<Reply> {
  const deployments = await newest(view, (span) => listDeployments(view.unit.store, app.id, span));
  if (deployments instanceof Refusal) return refusedPage(view, deployments, "Apps");
  const path = appPath(app.id);
  return framed(view, {
    title: app.title,
    section: "Apps",
    status,
    body: html`<p class="crumb"><a href="${DASHBOARD}/apps">Apps</a></p>
${head(app.title, view.may("updateApp") && html`<a class="button quiet" href="${path}/edit">Edit</a>`)}
${app.description !== "" && html`<p class="lead prose">${app.description}</p>`}
${facts([
  ["Visibility", visibility(app)],
  ["Theme", app.theme],
  ["Id", html`<code>${app.id}</code>`],
  ["Created", time(app.created_at)],
  ["Changed", time(app.updated_at)],
])}
<h2 id="deployments">Deployments</h2>
${deployments.total === 0 ? nothingYet("Not deployed yet", deployAdvice(view)) : list(deployments.items.map((each) => deploymentRow(view, each)))}
${pager(deployments, path)}
${view.may("deployApp") && deployForm(view, path, form)}
<h2>Data</h2>
${await dataOf(view, app)}
${
  view.may("deleteApp") &&
  html`<h2>Delete</h2>${danger(
    "Delete this app",
    `${path}/delete`,
    view.csrf,
    html`<strong>${app.title}</strong> and its deployments are gone, their addresses answer that. Its data sources stay. This cannot be undone.`,
    "Delete for good",
  )}`
}`,
  });
}

const deployAdvice = (view: View): string =>
  view.may("deployApp") ? "Deploy it below, and it has an address." : "Deploying takes the permission write:apps.";

function deploymentRow(view: View, deployment: DeploymentRecord): Html {
  const { id, name, environment, custom_domain, status, deployed_at } = deployment;
  const url = view.services.links.site(id);
  return row(
    status === "live" ? html`<a href="${url}">${name}</a>` : name,
    html`<code>${environment}</code>${custom_domain !== null && html` · <code>${custom_domain}</code>`} · ${time(deployed_at)}${status === "live" && html`<br><span class="mono">${url}</span>`}`,
    badge(status, status === "live" ? "good" : "plain"),
  );
}

const deployForm = (view: View, path: string, form: Form): Html =>
  html`<details class="card"${form.faults.size > 0 && html` open`}><summary>Deploy</summary>
<form class="form" method="post" action="${path}/deploy">${view.csrf}${formFault(form)}
${input(form, { name: "name", label: "Name", hint: "What this deployment is, such as: Release 1", required: true })}
${input(form, { name: "environment", label: "Environment", hint: "Deploying again to the same environment replaces what is live there.", required: true })}
${input(form, { name: "custom_domain", label: "Custom domain", hint: "A host name that you point at this server, such as: sales.example.com" })}
<button>Deploy</button></form></details>`;

async function dataOf(view: View, app: AppRecord): Promise<Shown> {
  if (!view.may("listDataSources"))
    return html`<p class="soft">Seeing its data sources takes the permission <code>read:data</code>.</p>`;
  const { items } = await listDataSourcesOf(view.unit.store, app.id, { offset: 0, limit: LIMIT_MAX });
  const upload =
    view.may("createDataSource") &&
    html`<a class="button quiet" href="${DASHBOARD}/data-sources/new?app=${app.id}">Add data</a>`;
  if (items.length === 0)
    return nothingYet("No data yet", "Each data source of an app becomes a chart, or a table where none fits.", upload);
  return html`${list(items.map((source) => sourceRow(source)))}${upload}`;
}

const FIRST: Form = formOf({ environment: "production" });

const deployApp = (view: View): Promise<Reply> =>
  withApp(view, async (app) => {
    const { fields, unit, caller, services } = view;
    const request = checked(deployRequest, {
      name: fields.get("name") ?? "",
      environment: fields.get("environment") ?? "",
      custom_domain: fields.get("custom_domain") ?? null,
    });
    const made = request instanceof Refusal ? request : await deploy(unit, caller, app.id, request, services.links);
    if (made instanceof Refusal)
      return appPage(view, app, refusedForm(fields, made, view.explain), view.explain(made).status);
    return redirect(`${appPath(app.id)}?done=deployed#deployments`);
  });

export const oneAppRows: readonly DashboardRow[] = [
  {
    method: "GET",
    path: `${DASHBOARD}/apps/{app_id}`,
    operation: "getApp",
    run: (view) => withApp(view, (app) => appPage(view, app, FIRST)),
  },
  { method: "POST", path: `${DASHBOARD}/apps/{app_id}/deploy`, operation: "deployApp", run: deployApp },
];
