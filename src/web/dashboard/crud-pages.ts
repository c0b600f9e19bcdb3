// The pages of one kind of resource: the list, a page for each record, and a form for each action. Each page calls the
// operation that the resource's table names (resources.ts).
import type { Page } from "../../domain/crud.ts";
import { AppError } from "../../domain/errors.ts";
import type { Entity } from "../../domain/store.ts";
import { isSafeMethod } from "../../http/message.ts";
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

/** An operation with a form. */
interface Action {
  readonly operation: string;
  readonly label: string;
  /** The path of its form. */
  readonly path: string;
  /** The page to show afterwards; `{id}` is the id of the result. */
  readonly nextPath: string;
  /** The operation whose fields the form has, if it is another one: an edit form has those of the create form. */
  readonly fields?: string;
  readonly warning?: string;
}

/** A kind of resource. Operations are named by their operation id. */
export interface Resource<R extends Entity = Entity> {
  readonly title: string;
  readonly intro: string;
  readonly list: string;
  readonly get: string;
  /** The path of a record's page; parameters are named as in the API. */
  readonly path: string;
  /** The page with the list: its own, or that of another resource. */
  readonly listPath: string;
  readonly create?: Action;
  /** The actions on a record. */
  readonly actions?: readonly Action[];
  /** A query parameter of the list, with its values. */
  readonly filter?: readonly [name: string, values: readonly string[]];
  readonly hints?: forms.Hints;
  /** Options of select fields that the schema does not list. */
  readonly choices?: forms.Choices;
  /** Converts form values to the request body, if they differ. */
  readonly toBody?: (values: forms.FormValues) => forms.FormValues | AppError;
  /** Returns the name of a record, if it is not one of its usual members. */
  name?(record: R): string;
  /** The members to show below the name in a list. */
  readonly summary: readonly string[];
  /** Content of the record's page above its details. */
  content?(record: R, page: PageContext): Promise<Renderable>;
}

/** Returns all dashboard routes of a resource. */
export function crudRoutes(resource: Resource): DashboardRoute[] {
  const { path, listPath, list, get, create, actions = [] } = resource;
  const routes: DashboardRoute[] = [
    { method: "GET", path, operationId: get, handler: (page) => recordPage(resource, page) },
  ];
  if (!listPath.includes("{")) {
    const handler = (page: PageContext) => listPage(resource, page);
    routes.push({ method: "GET", path: listPath, operationId: list, handler });
  }
  for (const action of create ? [create, ...actions] : actions) {
    const handler = (page: PageContext, fields: SubmittedFields) =>
      formPage(resource, action, page, fields);
    const route = { path: action.path, operationId: action.operation, handler };
    routes.push({ ...route, method: "GET" }, { ...route, method: "POST" });
  }
  return routes;
}

/** Links to the forms of the actions that this user may take. An action without input has a button instead. */
function renderActions(actions: readonly Action[], page: PageContext): Renderable {
  const available = actions.filter(({ operation }) => page.can(operation));
  return available.map(({ operation, label, path, warning }) => {
    const url = fillPath(path, page.params);
    return getOperation(operation).body || warning
      ? ui.link(url, label, "button")
      : page.form(url, html`<button>${label}</button>`);
  });
}

const listPage = async (resource: Resource, page: PageContext): Promise<Result> =>
  dashboardPage(page, {
    title: resource.title,
    actions: resource.create && renderActions([resource.create], page),
    body: await renderList(resource, page),
  });

const PAGE_LENGTH = 20;

/** Renders a page of the list with its filter, newest first; the API lists in creation order. */
export async function renderList(resource: Resource, page: PageContext): Promise<Renderable> {
  const [filter = "", values = []] = resource.filter ?? [];
  const value = values.find((each) => each === page.query.get(filter));
  const read = async (offset: number, limit: number) => {
    const query = { offset, limit, ...(value && { [filter]: value }) };
    const found = await page.callApi<Page<Entity>>(resource.list, { query });
    return found instanceof AppError ? { items: [], total: 0 } : found;
  };
  const { total } = await read(0, 0);
  const requestedSkip = countField(page.query, "skip") ?? 0;
  const skip = requestedSkip < total ? requestedSkip : 0;
  const end = Math.min(skip + PAGE_LENGTH, total);
  const { items } = await read(total - end, end - skip);
  const url = fillPath(resource.listPath, page.params);
  const filters = values.map((each) => [each, `${url}?${filter}=${each}`] as const);
  const pageUrl = (start: number) => `${url}?${value ? `${filter}=${value}&` : ""}skip=${start}`;
  return [
    html`<p class="lead">${ui.inlineMarkdown(resource.intro)}</p>`,
    resource.filter && ui.tabs("Filter", [["all", url], ...filters], value ?? "all"),
    renderRecords(resource, items.toReversed()),
    total > items.length && ui.muted(`${skip + 1} to ${end} of ${total}, newest first`),
    skip > 0 && ui.link(pageUrl(Math.max(skip - PAGE_LENGTH, 0)), "Newer", "button"),
    end < total && ui.link(pageUrl(end), "Older", "button"),
  ];
}

function getName({ name: toName }: Resource, record: Entity): string {
  const { title, name, url, email, id }: Partial<Record<string, unknown>> = { ...record };
  return toName?.(record) ?? String(title || name || url || email || id);
}

/** Renders each record with its name and summary. */
export function renderRecords(resource: Resource, records: readonly Entity[]): Renderable {
  const { title, path, summary } = resource;
  if (records.length === 0) return html`<p class="card">${title}: none yet.</p>`;
  const items = records.map((record) => {
    const members: Readonly<Record<string, unknown>> = { ...record };
    const url = fillPath(path.replace(/\{\w+\}$/, record.id), members);
    const line = summary.map((name) => [
      forms.labelFor(name),
      ": ",
      renderValue(name, members[name]),
      " ",
    ]);
    return html`<strong><a id="${record.id}" href="${url}">${getName(resource, record)}</a></strong>${ui.muted(line)}`;
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
  const { get, path, listPath, actions = [], content } = resource;
  const record = await page.callApi<Entity>(get);
  if (record instanceof AppError) return record;
  // Nested objects are part of the content.
  const members = Object.entries(page.toJson(get, record)).filter(
    ([, value]) => ![value].flat().some((each) => each instanceof Object),
  );
  const details = members.map(
    ([name, value]) => [forms.labelFor(name), renderValue(name, value)] as const,
  );
  return dashboardPage(page, {
    title: getName(resource, record),
    actions: renderActions(actions, page),
    body: html`<p>${ui.link(fillPath(listPath, page.params), "Back")} <span class="soft" data-live="${fillPath(path, page.params)}"></span></p>
<div data-follow>${await content?.(record, page)}<h2>Details</h2>${ui.definitionList(details)}</div>`,
  });
}

/** Shows the form of an action, or runs the action with the posted fields. */
async function formPage(
  resource: Resource,
  action: Action,
  page: PageContext,
  fields: SubmittedFields,
): Promise<Result> {
  const { get, create } = resource;
  const { operation, label, warning } = action;
  const record = action === create ? undefined : await page.callApi<Entity>(get);
  if (record instanceof AppError) return record;
  const schema = getOperation(action.fields ?? operation).body?.(page.services).json ?? {};
  let form: forms.Form = {
    values: action.fields ? page.toJson(get, record) : Object.fromEntries(page.query),
  };
  if (!isSafeMethod(page.request)) {
    const values = forms.parseFields(fields, schema);
    const result = await runAction(resource, action, page, values);
    if (!(result instanceof AppError)) return result;
    form = forms.formWithErrors(values, result);
  }
  return dashboardPage(page, {
    title: record ? `${label} ${getName(resource, record)}` : label,
    status: form.status,
    body: page.form(
      page.request.path,
      html`<p>${warning}</p>${forms.renderFields(form, schema, resource)}
<div class="row"><button>${label}</button>${ui.link(page.request.path.replace(/\/\w+$/, ""), "Cancel", "button")}</div>`,
      "card",
    ),
  });
}

/** Calls the operation and continues at the page of its result. A new secret is shown at once, and only now. */
async function runAction(
  { toBody }: Resource,
  { operation, nextPath, label }: Action,
  page: PageContext,
  values: forms.FormValues,
): Promise<Result> {
  const body = toBody ? toBody(values) : values;
  const result = body instanceof AppError ? body : await page.callApi(operation, { body });
  if (result instanceof AppError) return result;
  const json = page.toJson(operation, result);
  const next = fillPath(nextPath, { ...page.params, id: json.id });
  const secretName = getOperation(operation).shownOnce ?? "";
  const secret = json[secretName];
  if (!secret) return redirect(`${next}?done=1`);
  return dashboardPage(page, {
    title: label,
    status: 201,
    body: html`<h2>${forms.labelFor(secretName)}</h2>${ui.code(String(secret), "secret")}
<p>Copy it now. It is not shown again.</p>${ui.link(next, "Continue", "button")}`,
  });
}
