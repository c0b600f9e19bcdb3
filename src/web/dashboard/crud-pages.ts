// The pages of one kind of resource: the list, a page for each record, and a form for each action. Each page calls the
// operations named in the resource's table (resources.ts).
import type { Page } from "../../domain/crud.ts";
import { AppError } from "../../domain/errors.ts";
import type { Entity } from "../../domain/store.ts";
import type { HttpResponse } from "../../http/message.ts";
import { isSafeMethod } from "../../http/message.ts";
import type { Result } from "../../http/router.ts";
import {
  type Choices,
  type Form,
  type FormValues,
  formWithErrors,
  type Hints,
  labelFor,
  parseFields,
  renderFields,
} from "../form.ts";
import {
  alertBox,
  badge,
  code,
  definitionList,
  html,
  inlineMarkdown,
  link,
  list,
  muted,
  type Renderable,
  tabs,
  time,
} from "../html.ts";
import { redirect } from "../layout.ts";
import { countField, type SubmittedFields } from "../session.ts";
import {
  createPageContext,
  type DashboardRoute,
  dashboardPage,
  fillPath,
  getOperation,
  type Json,
  type Notice,
  type PageContext,
} from "./context.ts";

/** An action on a record or, to create one, on the list. Operations are named by their operation id. */
interface Action {
  readonly operation: string;
  readonly label: string;
  /** The path of its form. */
  readonly path: string;
  /** The page to show afterwards; `{id}` is the id of the result. */
  readonly nextPath: string;
  readonly notice: Notice;
  /** True if the action needs no input or confirmation: its button runs it at once. */
  readonly isImmediate?: boolean;
}

export interface Resource<R extends Entity = Entity> {
  /** The path of the list, and the API's name of the parameter that follows it on the page of a record. */
  readonly path: string;
  readonly id: string;
  /** The name of several, in lower case. */
  readonly plural: string;
  /** Where the list is shown; by default it has a page of its own. */
  readonly parent?: { readonly path: string; readonly label: string };
  /** The text above the list. */
  readonly intro: string;
  readonly list: string;
  readonly get: string;
  readonly create?: { readonly operation: string; readonly label: string };
  readonly update?: { readonly operation: string };
  readonly delete?: { readonly operation: string; readonly warning: string };
  readonly actions?: readonly Action[];
  /** A query parameter of the list. */
  readonly filter?: { readonly name: string; readonly values: readonly string[] };
  readonly hints?: Hints;
  /** Returns options for select fields, given the current form values. */
  readonly choices?: (page: PageContext, values: FormValues) => Promise<Choices>;
  /** Converts form values to the request body, if they differ. */
  readonly toBody?: (values: FormValues) => FormValues | AppError;
  /** Renders members that refer to other resources; undefined shows the id. */
  readonly references?: Readonly<
    Record<string, (id: string, page: PageContext) => Promise<Renderable>>
  >;
  title(record: R, page: PageContext): string | Promise<string>;
  /** The line below the title in a list. */
  summary(record: R, page: PageContext): Renderable | Promise<Renderable>;
  /** Content of the record's page above its details. */
  content?(record: R, page: PageContext): Renderable | Promise<Renderable>;
}

const recordPath = ({ path, id }: Resource): string => `${path}/{${id}}`;

function createAction({ create, path }: Resource): Action[] {
  if (create === undefined) return [];
  return [{ ...create, path: `${path}/new`, nextPath: `${path}/{id}`, notice: "created" }];
}

function recordActions(resource: Resource): Action[] {
  const { actions = [], update, delete: remove, path } = resource;
  const all = [...actions];
  const record = recordPath(resource);
  if (update)
    all.push({
      ...update,
      label: "Edit",
      path: `${record}/edit`,
      nextPath: record,
      notice: "saved",
    });
  if (remove)
    all.push({
      ...remove,
      label: "Delete",
      path: `${record}/delete`,
      nextPath: path,
      notice: "deleted",
    });
  return all;
}

/** Returns all dashboard routes of a resource. */
export function crudRoutes(resource: Resource): DashboardRoute[] {
  const routes: DashboardRoute[] = [
    {
      method: "GET",
      path: recordPath(resource),
      operation: getOperation(resource.get),
      handler: (page) => recordPage(resource, page),
    },
  ];
  if (resource.parent === undefined)
    routes.push({
      method: "GET",
      path: resource.path,
      operation: getOperation(resource.list),
      handler: (page) => listPage(resource, page),
    });
  for (const action of [...createAction(resource), ...recordActions(resource)]) {
    const form = {
      path: action.path,
      operation: getOperation(action.operation),
      handler: (page: PageContext, fields: SubmittedFields) =>
        formPage(resource, action, page, fields),
    };
    routes.push({ ...form, method: "GET" }, { ...form, method: "POST" });
  }
  return routes;
}

/** Links or buttons for the actions that this user may take. */
const renderActions = (actions: readonly Action[], page: PageContext): Renderable =>
  actions
    .filter(({ operation }) => page.can(operation))
    .map(({ label, path, isImmediate }) => {
      const url = fillPath(path, page.params);
      return isImmediate
        ? page.form(url, html`<button>${label}</button>`)
        : link(url, label, "button");
    });

async function listPage(resource: Resource, page: PageContext): Promise<HttpResponse> {
  const { plural } = resource;
  return dashboardPage(page, {
    title: plural.charAt(0).toUpperCase() + plural.slice(1),
    actions: renderActions(createAction(resource), page),
    body: await renderList(resource, page),
  });
}

const PAGE_LENGTH = 20;

/** Renders a page of the list, newest first (the API lists in creation order), with its filter. */
export async function renderList(resource: Resource, page: PageContext): Promise<Renderable> {
  const { intro, filter, plural, parent, path } = resource;
  const value = filter?.values.find((each) => each === page.query.get(filter.name));
  const filterQuery = filter && value ? { [filter.name]: value } : {};
  const readItems = async (offset: number, limit: number) => {
    const query = { ...filterQuery, offset, limit };
    const found = await page.callApi<Page<Entity>>(resource.list, { query });
    return found instanceof AppError ? { items: [], total: 0 } : found;
  };
  const { total } = await readItems(0, 0);
  const requestedSkip = countField(page.query, "skip") ?? 0;
  const skip = requestedSkip < total ? requestedSkip : 0;
  const first = Math.max(total - skip - PAGE_LENGTH, 0);
  const { items } = await readItems(first, total - skip - first);
  const end = skip + items.length;
  const url = fillPath(parent?.path ?? path, page.params);
  const pageLink = (rel: string, start: number, text: string) => {
    const query = new URLSearchParams({ ...filterQuery, skip: String(start) });
    return html`<a class="button" rel="${rel}" href="${url}?${query.toString()}">${text}</a>`;
  };
  const filters = filter?.values.map((each) => [each, `${url}?${filter.name}=${each}`] as const);
  return html`<p class="lead">${inlineMarkdown(intro)}</p>
${filters && tabs("Filter", [["all", url], ...filters], value ?? "all")}
${await renderRecords(resource, page, items.toReversed())}
${
  total > items.length &&
  html`<nav class="row" aria-label="Pages">${muted(`${skip + 1} to ${end} of ${total} ${plural}, newest first`)}
${skip > 0 && pageLink("prev", Math.max(skip - PAGE_LENGTH, 0), "Newer")}${end < total && pageLink("next", end, "Older")}</nav>`
}`;
}

/** Renders each record with its title and summary. */
export async function renderRecords(
  resource: Resource,
  page: PageContext,
  records: readonly Entity[],
): Promise<Renderable> {
  if (records.length === 0) return html`<p class="card">No ${resource.plural} yet.</p>`;
  const items = records.map(async (record) => {
    const url = `${fillPath(resource.path, record)}/${record.id}`;
    return html`<strong><a id="${record.id}" href="${url}">${await resource.title(record, page)}</a></strong>
${muted(await resource.summary(record, page))}`;
  });
  return html`<div class="card list">${list(await Promise.all(items))}</div>`;
}

/** `secret` is a value shown only once, with its name. */
async function recordPage(
  resource: Resource,
  page: PageContext,
  secret?: readonly [name: string, value: string],
): Promise<Result> {
  const record = await page.callApi<Entity>(resource.get);
  if (record instanceof AppError) return record;
  const { path, parent = { path, label: `All ${resource.plural}` } } = resource;
  const url = fillPath(recordPath(resource), page.params);
  return dashboardPage(page, {
    title: await resource.title(record, page),
    status: secret ? 201 : 200,
    actions: renderActions(recordActions(resource), page),
    body: html`${muted(html`${link(fillPath(parent.path, page.params), parent.label)} <span data-live="${url}"></span>`)}
${secret && alertBox("status", html`<strong>${labelFor(secret[0])}</strong>${code(secret[1], "secret")}${muted("Copy it now. It is not shown again.")}`)}
<div data-follow>${await resource.content?.(record, page)}<h2>Details</h2>${await renderDetails(resource, page, page.toJson(resource.get, record))}</div>`,
  });
}

/** Shows the members that the API returns, except nested objects. */
async function renderDetails(
  { references = {} }: Resource,
  page: PageContext,
  json: Json,
): Promise<Renderable> {
  const entries: (readonly [Renderable, Renderable])[] = [];
  for (const [name, value] of Object.entries(json)) {
    if ([value].flat().some((each) => each instanceof Object)) continue;
    const reference = value ? await references[name]?.(String(value), page) : undefined;
    const label = labelFor(references[name] ? name.replace(/_id$/, "") : name);
    entries.push([label, reference || renderValue(name, value)]);
  }
  return definitionList(entries);
}

function renderValue(name: string, value: unknown): Renderable {
  if (name === "status") return badge(String(value));
  if (value && /_at$|^created$/.test(name)) return time(String(value));
  if (typeof value === "boolean") return value ? "yes" : "no";
  return [value ?? ""].flat().join(", ") || "none";
}

/** Shows the form of an action, or runs the action with the posted fields. */
async function formPage(
  resource: Resource,
  action: Action,
  page: PageContext,
  fields: SubmittedFields,
): Promise<Result> {
  const isUpdate = action.operation === resource.update?.operation;
  const record =
    action.operation === resource.create?.operation
      ? undefined
      : await page.callApi<Entity>(resource.get);
  if (record instanceof AppError) return record;
  // An edit form has every field of the resource, also those that an update may omit.
  const { body } = getOperation((isUpdate && resource.create?.operation) || action.operation);
  const schema = body?.(page.services).json ?? {};
  let form: Form = {
    values: isUpdate ? page.toJson(resource.get, record) : Object.fromEntries(page.query),
  };
  if (!isSafeMethod(page.request)) {
    const values = parseFields(fields, schema);
    const result = await runAction(resource, action, page, values);
    if (!(result instanceof AppError)) return result;
    form = formWithErrors(values, result);
  }
  const { path } = page.request;
  const title = record ? `${action.label} ${await resource.title(record, page)}` : action.label;
  const warning = action.operation === resource.delete?.operation && resource.delete?.warning;
  const content = html`${warning && html`<p>${warning}</p>`}
${renderFields(form, schema, resource.hints, await resource.choices?.(page, form.values))}
<div class="row"><button>${action.label}</button>${link(path.replace(/\/[^/]*$/, ""), "Cancel", "button")}</div>`;
  return dashboardPage(page, {
    title,
    status: form.status,
    body: page.form(path, content, "card"),
  });
}

/** Calls the operation and continues at the page of its result. A new secret is shown at once, and only now. */
async function runAction(
  resource: Resource,
  { operation, nextPath, notice }: Action,
  page: PageContext,
  values: FormValues,
): Promise<Result> {
  const body = resource.toBody ? resource.toBody(values) : values;
  const result = body instanceof AppError ? body : await page.callApi(operation, { body });
  if (result instanceof AppError) return result;
  const json = page.toJson(operation, result);
  for (const name of Object.keys(getOperation(operation).shownOnce ?? {})) {
    const params = { ...page.params, [resource.id]: String(json.id) };
    if (json[name])
      return recordPage(resource, createPageContext(page, params), [name, String(json[name])]);
  }
  return redirect(`${fillPath(nextPath, { ...page.params, id: json.id })}?notice=${notice}`);
}
