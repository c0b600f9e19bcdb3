// The pages of one kind of resource: the list, a page for each record, and a form for each action. Each page calls the
// operation of the REST API that has the same path.
import type { Page } from "../../domain/crud.ts";
import { AppError } from "../../domain/errors.ts";
import type { Entity } from "../../domain/store.ts";
import { isSafeMethod } from "../../http/message.ts";
import type { Operation } from "../../http/operation.ts";
import type { Result } from "../../http/router.ts";
import * as forms from "../form.ts";
import * as ui from "../html.ts";
import { html, type Renderable } from "../html.ts";
import { redirect } from "../layout.ts";
import { countField, type SubmittedFields } from "../session.ts";
import {
  type DashboardRoute,
  dashboardPage,
  fillPath,
  getOperation,
  type PageContext,
} from "./context.ts";

export interface Resource<R extends Entity = Entity> {
  readonly title: string;
  readonly intro: string;
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
  /** Returns the name of a record, if it is not one of its usual members. */
  getName?(record: R): string;
  /** The members to show below the name in a list. */
  readonly summary: readonly string[];
  /** Returns members that a list shows and the API does not have. */
  getExtraMembers?(record: R): object;
  /** Content of the record's page above its details. */
  renderContent?(record: R, page: PageContext): Promise<Renderable>;
}

type Handler = DashboardRoute["handler"];

const parentPath = (path: string): string => path.slice(0, path.lastIndexOf("/"));
const listOperation = ({ apiPath }: Resource) => getOperation(`GET ${parentPath(apiPath)}`);
const readOperation = ({ apiPath }: Resource) => getOperation(`GET ${apiPath}`);

/** The page with the list: its own, or that of the record to which the resource belongs. */
function getListPath({ path }: Resource): string {
  const listPath = parentPath(path);
  return listPath.includes("{") ? parentPath(listPath) : listPath;
}

type Action = ReturnType<typeof getActions>[number];

function getActions(resource: Resource) {
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
  const routes: DashboardRoute[] = [];
  const addRoute = (method: "GET" | "POST", path: string, operation: Operation, handler: Handler) =>
    routes.push({ method, path, operation, handler });

  addRoute("GET", resource.path, readOperation(resource), (page) => recordPage(resource, page));
  if (!listPath.includes("{"))
    addRoute("GET", listPath, listOperation(resource), async (page) =>
      dashboardPage(page, {
        title: resource.title,
        actions: renderActions(resource, page, true),
        body: await renderList(resource, page),
      }),
    );
  for (const action of getActions(resource))
    for (const method of ["GET", "POST"] as const)
      addRoute(method, action.path, action.operation, (page, fields) =>
        formPage(resource, action, page, fields),
      );
  return routes;
}

/** Links to the forms that this user may send: that of the list or those of a record. */
const renderActions = (resource: Resource, page: PageContext, isList: boolean): Renderable =>
  getActions(resource)
    .filter(({ name, operation }) => (name === "new") === isList && page.can(operation))
    .map(({ name, operation, label, path }) => {
      const url = fillPath(path, page.params);
      // An action without fields and without a warning needs no form of its own.
      return operation.body || name === "delete"
        ? ui.link(url, label, "button")
        : page.form(url, html`<button>${label}</button>`);
    });

const PAGE_LENGTH = 20;

/** Renders a page of the list with its filter, newest first; the API lists in creation order. */
export async function renderList(resource: Resource, page: PageContext): Promise<Renderable> {
  const operation = listOperation(resource);
  const parameters = Object.entries(operation.query?.members ?? {});
  const [
    filter = "",
    {
      json: { enum: values = [] },
    } = { json: {} },
  ] = parameters.find(([, { json }]) => json.enum) ?? [];
  const value = values.find((each) => each === page.query.get(filter));
  const read = async (offset: number, limit: number) => {
    const query = { offset, limit, ...(value && { [filter]: value }) };
    const found = await page.callApi<Page<Entity>>(operation, { query });
    return found instanceof AppError ? { items: [], total: 0 } : found;
  };
  const { total } = await read(0, 0);
  const requestedSkip = countField(page.query, "skip") ?? 0;
  const skip = requestedSkip < total ? requestedSkip : 0;
  const end = Math.min(skip + PAGE_LENGTH, total);
  const { items } = await read(total - end, end - skip);
  const url = fillPath(getListPath(resource), page.params);
  const filters = values.map((each) => [each, `${url}?${filter}=${each}`] as const);
  const pageUrl = (start: number) => `${url}?${value ? `${filter}=${value}&` : ""}skip=${start}`;
  return [
    html`<p class="lead">${ui.inlineMarkdown(resource.intro)}</p>`,
    filter && ui.tabs("Filter", [["all", url], ...filters], value ?? "all"),
    renderRecords(resource, items.toReversed()),
    total > items.length && ui.muted(`${skip + 1} to ${end} of ${total}, newest first`),
    skip > 0 && ui.link(pageUrl(Math.max(skip - PAGE_LENGTH, 0)), "Newer", "button"),
    end < total && ui.link(pageUrl(end), "Older", "button"),
  ];
}

function getRecordName({ getName }: Resource, record: Entity): string {
  const members: Record<string, unknown> = { ...record };
  const { title, name, email, url, event_type, id } = members;
  return getName?.(record) ?? String(title || name || email || url || event_type || id);
}

/** Renders each record with its name and summary. */
export function renderRecords(resource: Resource, records: readonly Entity[]): Renderable {
  const { title, path, summary, getExtraMembers } = resource;
  if (records.length === 0) return html`<p class="card">${title}: none yet.</p>`;
  const items = records.map((record) => {
    const members: Record<string, unknown> = { ...record, ...getExtraMembers?.(record) };
    const url = fillPath(`${parentPath(path)}/{id}`, members);
    const line = summary.map(
      (name) => html`${forms.toLabel(name)}: ${renderValue(name, members[name])} `,
    );
    return html`<strong><a id="${record.id}" href="${url}">${getRecordName(resource, record)}</a></strong>${ui.muted(line)}`;
  });
  return html`<div class="card list">${ui.list(items)}</div>`;
}

/** The pages of resources that others refer to. */
const PAGES: Readonly<Record<string, string>> = {
  app_id: "/dashboard/apps/",
  event_id: "/dashboard/events/",
  webhook_id: "/dashboard/settings/webhooks/",
};

function renderValue(name: string, value: unknown): Renderable {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = [value ?? ""].flat().join(", ");
  if (text === "") return "none";
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
    .map(([name, value]) => [forms.toLabel(name), renderValue(name, value)] as const);
  const back = ui.link(fillPath(getListPath(resource), page.params), "Back");
  return dashboardPage(page, {
    title: getRecordName(resource, record),
    actions: renderActions(resource, page, false),
    body: html`<p>${back} <span class="soft" data-live></span></p>
<div data-follow>${await resource.renderContent?.(record, page)}<h2>Details</h2>${ui.definitionList(details)}</div>`,
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
  const schema = body?.(page.services).json ?? {};
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
    title: record ? `${label} ${getRecordName(resource, record)}` : label,
    status: form.status,
    body: page.form(
      page.request.path,
      html`<p>${name === "delete" && resource.deleteWarning}</p>${forms.renderFields(form, schema, resource.hints)}
<div class="row"><button>${label}</button>${cancel}</div>`,
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
  const secret = json[shownOnce];
  if (!secret) return redirect(`${next}?done=1`);
  return dashboardPage(page, {
    title: label,
    status: 201,
    body: html`<h2>${forms.toLabel(shownOnce)}</h2>${ui.code(String(secret), "secret")}
<p>Copy it now. It is not shown again.</p>${ui.link(next, "Continue", "button")}`,
  });
}
