// The pages of one kind of resource: the list, a page for each record, and a form for each action. Each page calls the
// operation of the REST API that has the same path.
import type { ListPage } from "../../domain/crud.ts";
import { AppError } from "../../domain/errors.ts";
import type { Entity } from "../../domain/store.ts";
import { isSafeMethod } from "../../http/message.ts";
import type { Operation } from "../../http/operation.ts";
import type { Result } from "../../http/router.ts";
import * as forms from "../form.ts";
import * as ui from "../html.ts";
import { Html, html, type Renderable } from "../html.ts";
import { redirect } from "../layout.ts";
import type { SubmittedFields } from "../session.ts";
import {
  type DashboardRoute,
  dashboardPage,
  fillPath,
  getOperation,
  type PageContext,
} from "./context.ts";

export interface Resource<R extends Entity = Entity> {
  readonly title: string;
  readonly intro?: string;
  /** What an empty list says, and the action that it offers; by default `new`. */
  readonly empty: string;
  readonly next?: Action | undefined;
  /** The path of a record's page. */
  readonly path: string;
  /** The path of a record in the API, with the same parameters. */
  readonly apiPath: string;
  /** Labels by the last segment of the form's path; `new` is an action on the list, the others are on a record. */
  readonly actions?: Readonly<Record<string, string>>;
  readonly deleteWarning?: string;
  /** Pages to show after actions whose result is another resource; `{id}` is its id. */
  readonly nextPaths?: Readonly<Record<string, string>>;
  readonly hints?: forms.Hints;
  /** Converts form values to the request body, if they differ. */
  readonly toBody?: (values: forms.FormValues) => forms.FormValues | AppError;
  /** The query parameter by which the list can be filtered. */
  readonly filter?: string;
  /** The members that a list shows beside the name. */
  readonly columns: readonly string[];
  /** Returns members for the list that the API does not have or shows otherwise; `name` is the text of the link. */
  getCells?(record: R, page: PageContext): Promise<Readonly<Record<string, Renderable>>>;
  /** Content of the record's page above its details. */
  renderContent?(record: R, page: PageContext): Promise<Renderable>;
}

const parentPath = (path: string): string => path.slice(0, path.lastIndexOf("/"));
export const listOperation = ({ apiPath }: Resource) => getOperation(`GET ${parentPath(apiPath)}`);
const readOperation = ({ apiPath }: Resource) => getOperation(`GET ${apiPath}`);

/** The page with the list: its own, or that of the record to which the resource belongs. */
function getListPath({ path }: Resource): string {
  const listPath = parentPath(path);
  return listPath.includes("{") ? parentPath(listPath) : listPath;
}

interface Action {
  readonly name: string;
  readonly label: string;
  readonly path: string;
  readonly operation: Operation;
}

export function getActions(resource: Resource): readonly Action[] {
  const { path, apiPath, actions = {} } = resource;
  const standardKeys: Record<string, string> = {
    new: `POST ${parentPath(apiPath)}`,
    edit: `PATCH ${apiPath}`,
    delete: `DELETE ${apiPath}`,
  };
  return Object.entries(actions).map(([name, label]) => ({
    name,
    label,
    path: `${name === "new" ? getListPath(resource) : path}/${name}`,
    operation: getOperation(standardKeys[name] ?? `POST ${apiPath}/${name}`),
  }));
}

/** Returns all dashboard routes of a resource. */
export function crudRoutes(resource: Resource): DashboardRoute[] {
  const listPath = getListPath(resource);
  const routes: DashboardRoute[] = [
    {
      method: "GET",
      path: resource.path,
      operation: readOperation(resource),
      handler: (page) => recordPage(resource, page),
    },
  ];
  if (!listPath.includes("{"))
    routes.push({
      method: "GET",
      path: listPath,
      operation: listOperation(resource),
      handler: (page) => listPage(resource, page),
    });
  for (const action of getActions(resource))
    for (const method of ["GET", "POST"] as const)
      routes.push({
        method,
        ...action,
        handler: (page, fields) => formPage(resource, action, page, fields),
      });
  return routes;
}

async function listPage(resource: Resource, page: PageContext): Promise<Result> {
  const { title, intro = "" } = resource;
  const { total } = await readList(resource, page, 0, 0);
  return dashboardPage(page, {
    title,
    // An empty list has this action in its place.
    actions: total > 0 && renderActions(resource, page, true),
    body: [html`<p class="lead">${ui.inlineMarkdown(intro)}</p>`, await renderList(resource, page)],
  });
}

/** Links to the forms that this user may send: that of the list or those of a record. The first one is the primary one. */
const renderActions = (resource: Resource, page: PageContext, isList: boolean): Renderable =>
  getActions(resource)
    .filter(({ name, operation }) => (name === "new") === isList && page.can(operation))
    .map(({ name, operation, label, path }) => {
      const url = fillPath(path, page.params);
      const look = /^(edit|delete)$/.test(name) ? "button" : "button primary";
      // An action without fields and without a warning needs no form of its own.
      return operation.body || name === "delete"
        ? ui.link(url, label, look)
        : page.form(url, html`<button class="primary">${label}</button>`);
    });

const PAGE_LENGTH = 20;

/** Returns a range of a list, in creation order; nothing if the user may not read it. */
async function readList(
  resource: Resource,
  page: PageContext,
  offset: number,
  limit: number,
  condition: object = {},
) {
  const query = { offset, limit, ...condition };
  const range = await page.callApi<ListPage<Entity>>(listOperation(resource), { query });
  return range instanceof AppError ? { items: [], total: 0 } : range;
}

/** Renders a page of the list with its filter, newest first; the API lists in creation order. */
export async function renderList(
  resource: Resource,
  page: PageContext,
  length = PAGE_LENGTH,
): Promise<Renderable> {
  const { filter = "" } = resource;
  const values = listOperation(resource).query?.members[filter]?.json.enum ?? [];
  const value = values.find((each) => each === page.query.get(filter));
  const condition = { [filter]: value };
  const { total } = await readList(resource, page, 0, 0, condition);
  const requestedSkip = Math.abs(Number.parseInt(page.query.get("skip") ?? "", 10));
  const skip = requestedSkip < total ? requestedSkip : 0;
  const end = Math.min(skip + length, total);
  const { items } = await readList(resource, page, total - end, end - skip, condition);
  const url = fillPath(getListPath(resource), page.params);
  const filters = values.map((each) => [ui.toLabel(each), `${url}?${filter}=${each}`] as const);
  const pageUrl = (start: number) => `${url}?${value ? `${filter}=${value}&` : ""}skip=${start}`;
  return [
    (value ?? (total > 0 && length === PAGE_LENGTH && filter)) &&
      ui.tabs("Filter", [["All", url], ...filters], ui.toLabel(value ?? "all")),
    value && total === 0
      ? ui.muted("None here. Choose another filter.")
      : await renderRecords(resource, items.toReversed(), page),
    total > items.length &&
      html`<div class="row">${ui.muted(`${skip + 1} to ${end} of ${total}, newest first`)}
${skip > 0 && ui.link(pageUrl(Math.max(skip - length, 0)), "Newer", "button")}
${end < total && ui.link(pageUrl(end), "Older", "button")}</div>`,
  ];
}

function getRecordName(record: Entity): string {
  const members: Record<string, unknown> = { ...record };
  const { title, name, email, url, event_type, type, id } = members;
  return String(title || name || email || url || event_type || type || id);
}

/** Renders records as a table, whose rows are cards on a phone. */
export async function renderRecords(
  resource: Resource,
  records: readonly Entity[],
  page: PageContext,
): Promise<Renderable> {
  const { title, path, columns, empty, next = getActions(resource)[0] } = resource;
  if (records.length === 0) {
    const action =
      next &&
      page.can(next.operation) &&
      ui.link(fillPath(next.path, page.params), next.label, "button");
    return html`<div class="card"><p>${empty}</p>${action}</div>`;
  }
  const rows: Html[] = [];
  for (const record of records) {
    const cells = await resource.getCells?.(record, page);
    const members: Record<string, unknown> = { ...record, ...cells };
    const url = fillPath(`${parentPath(path)}/{id}`, members);
    const others = columns.map(
      (name) =>
        html`<td data-label="${ui.toLabel(name)}"><div>${renderValue(name, members[name])}</div></td>`,
    );
    rows.push(
      html`<tr class="card" id="${record.id}"><td>${ui.link(url, cells?.name ?? getRecordName(record))}</td>${others}</tr>\n`,
    );
  }
  const labels = [title, ...columns.map(ui.toLabel)];
  return html`<table class="list"><thead><tr>${labels.map((label) => html`<th scope="col">${label}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table>`;
}

/** The pages of resources that others refer to. */
const PAGES: Readonly<Record<string, string>> = {
  app_id: "/dashboard/apps/",
  webhook_id: "/dashboard/settings/webhooks/",
};

function renderValue(name: string, value: unknown): Renderable {
  if (value instanceof Html) return value;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  const text = [value ?? ""].flat().join(", ");
  if (text === "") return name === "last_used_at" ? "Never" : "None";
  if (name === "status") return ui.badge(text);
  if (/_at$|^created$/.test(name)) return ui.time(text);
  const page = PAGES[name];
  return page ? ui.link(page + text, text) : text;
}

async function recordPage(resource: Resource, page: PageContext): Promise<Result> {
  const operation = readOperation(resource);
  const record = await page.callApi<Entity>(operation);
  if (record instanceof AppError) return record;
  // Nested objects are part of the content.
  const details = Object.entries(page.toJson(operation, record))
    .filter(([, value]) => ![value].flat().some((each) => each instanceof Object))
    .map(([name, value]) => [ui.toLabel(name), renderValue(name, value)] as const);
  return dashboardPage(page, {
    title: getRecordName(record),
    back: fillPath(getListPath(resource), page.params),
    actions: renderActions(resource, page, false),
    body: html`<div data-follow>${await resource.renderContent?.(record, page)}<h2>Details</h2>${ui.definitionList(details)}</div>`,
  });
}

/** Shows the form of an action, or runs the action with the posted fields. */
async function formPage(
  resource: Resource,
  action: Action,
  page: PageContext,
  fields: SubmittedFields,
): Promise<Result> {
  const { name, operation, label } = action;
  const read = readOperation(resource);
  const record = name === "new" ? undefined : await page.callApi<Entity>(read);
  if (record instanceof AppError) return record;
  const isEdit = name === "edit";
  // PATCH requires no fields, but the form shows all of them.
  const { body } = isEdit ? getOperation(`POST ${parentPath(resource.apiPath)}`) : operation;
  const schema = body?.(page.routeDeps).json ?? {};
  let form: forms.Form = {
    values: isEdit ? page.toJson(read, record) : Object.fromEntries(page.query),
  };
  if (!isSafeMethod(page.request)) {
    const values = forms.parseFields(fields, schema);
    const result = await runAction(resource, action, page, values);
    if (!(result instanceof AppError)) return result;
    form = forms.formWithErrors(values, result);
  }
  const cancel = ui.link(parentPath(page.request.path), "Cancel", "button");
  return dashboardPage(page, {
    title: record ? `${label}: ${getRecordName(record)}` : label,
    status: form.status,
    body: page.form(
      page.request.path,
      html`${name === "delete" && html`<p>${resource.deleteWarning}</p>`}${forms.renderFields(form, schema, resource.hints)}
<div class="row"><button class="primary">${isEdit ? "Save" : label}</button>${cancel}</div>`,
      "card",
    ),
  });
}

/** Calls the operation and continues at the page of its result. A new secret is shown at once, and only now. */
async function runAction(
  resource: Resource,
  { name, operation, label }: Action,
  page: PageContext,
  values: forms.FormValues,
): Promise<Result> {
  const { toBody, path, nextPaths = {} } = resource;
  const body = toBody ? toBody(values) : values;
  const result = body instanceof AppError ? body : await page.callApi(operation, { body });
  if (result instanceof AppError) return result;
  const json = page.toJson(operation, result);
  const standardPaths = { new: `${parentPath(path)}/{id}`, delete: getListPath(resource) };
  const nextPath = { ...standardPaths, ...nextPaths }[name] ?? path;
  const next = fillPath(nextPath, { ...page.params, id: json.id });
  const { shownOnce = "" } = operation;
  const secret = String(json[shownOnce] ?? "");
  if (secret === "") return redirect(`${next}?done=${name}`);
  return dashboardPage(page, {
    title: label,
    status: 201,
    body: html`<h2>${ui.toLabel(shownOnce)}</h2><p>Copy it now. It is not shown again.</p>${ui.code(secret, "secret")}
${ui.link(next, "Continue", "button primary")}`,
  });
}
