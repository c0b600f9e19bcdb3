// Dashboard pages of one kind of resource, declared once: its API path, how a record is shown, and the texts. The list,
// the detail page and a form for each action come from that and from the API routes below the path, which they call.
import type { Page } from "../../domain/crud.ts";
import { AppError } from "../../domain/errors.ts";
import type { Entity } from "../../domain/store.ts";
import { API } from "../../http/api.ts";
import { isSafeMethod } from "../../http/message.ts";
import type { Operation } from "../../http/route.ts";
import {
  type Choices,
  type Form,
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
  hidden,
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
  ACTIONS,
  createPageContext,
  type DashboardRoute,
  dashboardPage,
  dashboardUrl,
  findOperation,
  type PageContext,
} from "./context.ts";

type Later<T> = T | Promise<T>;

export interface CrudPageOptions<R extends Entity = Entity> {
  /** The API path of one resource: `/apps/{app_id}`. */
  readonly path: string;
  /** The text above the list. */
  readonly intro: string;
  /** The warning before a delete. */
  readonly deleteWarning?: string;
  /** Hints for all of its forms. */
  readonly hints?: Hints;
  /** Options for select fields, computed from the current form values. */
  readonly choices?: (page: PageContext, held: Form["values"]) => Promise<Choices>;
  /** Converts form values to the request body, if they differ. */
  readonly draft?: (sent: Form["values"]) => Form["values"] | AppError;
  /** Shows the resource that a member refers to by id; the id itself is shown if it returns nothing. */
  readonly references?: {
    readonly [member: string]: (id: string, view: PageContext) => Promise<Renderable>;
  };
  name(record: R, view: PageContext): Later<string>;
  /** The line below the name in a list. */
  below(record: R, view: PageContext): Later<Renderable>;
  /** Content of the detail page beyond the fields that the API returns. */
  more?(record: R, view: PageContext): Later<Renderable>;
}

const parentPath = (path: string): string => path.replace(/\/[^/]*$/, "");

/** Returns true if the list belongs to another resource; it is then on that resource's page. */
const isNested = ({ path }: CrudPageOptions): boolean => parentPath(path).includes("{");
const listUrl = (of: CrudPageOptions): string =>
  parentPath(isNested(of) ? parentPath(of.path) : of.path);

const listOf = ({ path }: CrudPageOptions) => findOperation(`GET ${parentPath(path)}`);
const getOf = ({ path }: CrudPageOptions) => findOperation(`GET ${path}`);

/** The suffix of a form page's URL, by method. */
const ASKS: { readonly [method: string]: string } = { PATCH: "/edit", DELETE: "/delete" };

type Action = ReturnType<typeof actionsFor>[number];

/** Returns the available actions and the URLs of their forms. */
const actionsFor = ({ path }: CrudPageOptions) =>
  ACTIONS.flatMap(([name, button]) =>
    API.routes.flatMap((row) => {
      const { operationId: operation, method, path: at } = row;
      const makes = at === parentPath(path);
      const isHere =
        [operation, method].includes(name) && (makes || at === path || parentPath(at) === path);
      return isHere
        ? { row, name, button, makes, at: at + (makes ? "/new" : (ASKS[method] ?? "")) }
        : [];
    }),
  );

/** Links or buttons for the actions that this user may take: creating one, or acting on the resource of the page. */
const actionLinks = (of: CrudPageOptions, page: PageContext, making: boolean): Renderable =>
  actionsFor(of).map(({ row, at, button, makes }) => {
    if (makes !== making || page.permissionError(row)) return null;
    const path = dashboardUrl(at, page.params);
    // A button acts at once if the operation needs no input.
    const asks = row.body || row.method === "DELETE";
    return asks ? link(path, button, "button") : page.form(path, html`<button>${button}</button>`);
  });

/** Returns all dashboard routes of one kind of resource. */
export function crudPages(of: CrudPageOptions): readonly DashboardRoute[] {
  const page = (
    operation: Operation,
    run: DashboardRoute["run"],
    path = operation.path,
  ): DashboardRoute => {
    return { method: "GET", path: dashboardUrl(path), operation, run };
  };
  return [
    ...(isNested(of) ? [] : [page(listOf(of), (view) => listPage(of, view))]),
    page(getOf(of), (view) => onePage(of, view)),
    ...actionsFor(of).flatMap((action): DashboardRoute[] => {
      const form = page(action.row, (view, sent) => formPage(of, view, action, sent), action.at);
      return [form, { ...form, method: "POST" }];
    }),
  ];
}

const listPage = async (of: CrudPageOptions, page: PageContext) =>
  dashboardPage(page, {
    title: page.section,
    actions: actionLinks(of, page, true),
    body: await listView(of, page),
  });

const PAGE_LENGTH = 20;

/**
 * A page of the list, newest first (the API lists in creation order), with the API's filters. An invalid `skip` in the
 * query is ignored.
 */
export async function listView(of: CrudPageOptions, page: PageContext): Promise<Renderable> {
  const row = listOf(of);
  const [filter = "", words] =
    Object.entries(row.query?.members ?? {}).find(([, { json }]) => json.enum) ?? [];
  const values = words?.json.enum ?? [];
  const chosen = values.find((each) => each === page.query.get(filter));
  const read = async (offset: number, limit: number) => {
    const found = await page.callApi<Page<Entity>>(row, {
      query: { offset, limit, [filter]: chosen },
    });
    return found instanceof AppError ? { items: [], total: 0 } : found;
  };
  const { total } = await read(0, 0);
  const asked = countField(page.query, "skip") ?? 0;
  const skip = asked < total ? asked : 0;
  const from = Math.max(total - skip - PAGE_LENGTH, 0);
  const items = (await read(from, total - skip - from)).items.toReversed();
  const end = skip + items.length;
  // A POST renders at the URL of its form, which has no list.
  const home = `${dashboardUrl(listUrl(of), page.params)}?`;
  const to = (rel: string, at: number, text: string) =>
    html`<a class="button" rel="${rel}" href="${home}${chosen && `${filter}=${chosen}&`}skip=${at}">${text}</a>`;
  return html`<p class="lead">${inlineMarkdown(of.intro)}</p>
${filter && tabs(filter, [["all", home], ...values.map((each) => [each, `${home}${filter}=${each}`] as const)], chosen ?? "all")}
${await rowsOf(of, page, items, chosen)}
${
  total > items.length &&
  html`<nav class="row" aria-label="Pages">${muted(`${skip + 1} to ${end} of ${total}, the newest first`)}
${skip > 0 && to("prev", Math.max(skip - PAGE_LENGTH, 0), "Newer")}${end < total && to("next", end, "Older")}</nav>`
}`;
}

/** Renders each record with its name, a line below it, and the content at its right. */
export async function rowsOf(
  of: CrudPageOptions,
  page: PageContext,
  items: readonly Entity[],
  chosen = "",
): Promise<Renderable> {
  const all = dashboardUrl(parentPath(of.path));
  const many = all
    .replace(/.*\//, "")
    .replace("-", " ")
    .replace("api", "API")
    .replace("oauth", "OAuth");
  if (items.length === 0) return html`<p class="card">No ${chosen} ${many} yet.</p>`;
  const rowOf = async (record: Entity) =>
    html`<strong><a id="${record.id}" href="${dashboardUrl(parentPath(of.path), record)}/${record.id}">${await of.name(record, page)}</a></strong>
${muted(await of.below(record, page))}`;
  return html`<div class="card list">${list(await Promise.all(items.map(rowOf)))}</div>`;
}

const ONCE = "Copy it now: it is never shown again.";

/** `once` is a value shown only once, with its label. */
async function onePage(
  of: CrudPageOptions,
  page: PageContext,
  once?: readonly [name: string, value: Renderable],
) {
  const get = getOf(of);
  const record = await page.callApi<Entity>(get);
  if (record instanceof AppError) return record;
  const { params, section: place } = page;
  return dashboardPage(page, {
    title: await of.name(record, page),
    status: once ? 201 : 200,
    actions: actionLinks(of, page, false),
    body: html`${muted(html`${link(dashboardUrl(listUrl(of), params), isNested(of) ? place.slice(0, -1) : place)} <span data-live="${dashboardUrl(of.path, params)}"></span>`)}
${once && alertBox("status", html`<strong>Its ${labelFor(once[0])}</strong>${code(once[1], "secret")}${muted(ONCE)}`)}
<div data-follow>${await of.more?.(record, page)}<h2>Details</h2>${await detailFields(of, page.shown(get, record), page)}</div>`,
  });
}

function fieldValue(member: string, value: unknown): Renderable {
  if (member === "status") return badge(String(value));
  if (value && /_at$|^created$/.test(member)) return time(String(value));
  return [value ?? ""].flat().join(", ") || "none";
}

/** Shows these members of a record on one line. */
export const summaryFields =
  (...members: readonly string[]) =>
  (record: object): Renderable =>
    members.map((each, at) => [
      at > 0 && " · ",
      `${labelFor(each)} `,
      fieldValue(each, Reflect.get(record, each)),
    ]);

/** Shows the members that the API returns, except nested objects. */
async function detailFields(
  { references = {} }: CrudPageOptions,
  shown: object,
  page: PageContext,
): Promise<Renderable> {
  const plain = Object.entries(shown).filter(
    ([, value]) => ![value].flat().some((each) => each === Object(each)),
  );
  const entries = plain.map(async ([member, value]) => {
    const refer = references[member];
    const label = refer ? member.replace(/_id$/, "") : member;
    return [
      labelFor(label),
      (value && (await refer?.(value, page))) || fieldValue(member, value),
    ] as const;
  });
  return definitionList(await Promise.all(entries));
}

/** Shows the form of an operation and runs it once submitted; an edit form contains every field. */
async function formPage(
  of: CrudPageOptions,
  page: PageContext,
  { row, name, makes, button }: Action,
  sent: SubmittedFields,
) {
  const record = makes ? undefined : await page.callApi<Entity>(getOf(of));
  if (record instanceof AppError) return record;
  const { call: request, services, form } = page;
  const changes = row.method === "PATCH";
  const { body: takes } = changes ? findOperation(`POST ${parentPath(of.path)}`) : row;
  const schema = takes?.(services).json ?? {};
  let shown: Form = {
    values: changes ? page.shown(getOf(of), record) : Object.fromEntries(page.query),
  };
  if (!isSafeMethod(request)) {
    const values = parseFields(sent, schema);
    const body = of.draft ? of.draft(values) : values;
    const kept = body instanceof AppError ? body : await page.callApi(row, { body });
    if (!(kept instanceof AppError))
      return redirectAfterAction(of, page, row, kept, `?done=${name}`);
    shown = formWithErrors(values, kept);
  }
  const asked = html`${!changes && hidden("once", request.id)}${row.method === "DELETE" && html`<p>${of.deleteWarning}</p>`}
${renderFields(shown, schema, of.hints, await of.choices?.(page, shown.values))}
<div class="row"><button>${button}</button>${link(parentPath(request.path), "Cancel", "button")}</div>`;
  const title = record ? `${button} ${await of.name(record, page)}` : button;
  return dashboardPage(page, {
    title,
    status: shown.status,
    body: form(request.path, asked, "card"),
  });
}

/** Redirects to the page of the operation's result, or else to the list. */
async function redirectAfterAction(
  of: CrudPageOptions,
  page: PageContext,
  row: Operation,
  kept: unknown,
  said: string,
) {
  const shows = API.routes.find(
    ({ method, serializer: shown }) => method === "GET" && shown === row.serializer,
  );
  if (shows === undefined) return redirect(dashboardUrl(listUrl(of), page.params) + said);
  const members = page.shown(row, kept);
  const [, param = ""] = /\{(\w+)\}$/.exec(shows.path) ?? [];
  const params = { ...page.params, [param]: members.id ?? "" };
  const { shownOnce: secret = "" } = row;
  if (members[secret])
    return onePage(of, createPageContext(page, params), [secret, members[secret]]);
  return redirect(dashboardUrl(shows.path, params) + said);
}
