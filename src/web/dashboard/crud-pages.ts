// One kind of thing in the dashboard, said once: where the API has it, how one of them reads, and the words for it. Its
// pages - the list, one of them, and a form for each deed - are drawn from that and from the rows of the API below that
// path, which they call.
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
  /** Of one of them in the API: `/apps/{app_id}`. */
  readonly path: string;
  /** What stands above a list of them. */
  readonly intro: string;
  /** What follows from deleting one. */
  readonly deleteWarning?: string;
  /** For all its forms. */
  readonly hints?: Hints;
  /** From what people choose, where the form holds these values. */
  readonly choices?: (page: PageContext, held: Form["values"]) => Promise<Choices>;
  /** Makes the body of what the form holds, where that is not the same. */
  readonly draft?: (sent: Form["values"]) => Form["values"] | AppError;
  /** How its own page shows the thing that a member holds the id of; where nothing is returned it shows the id. */
  readonly references?: {
    readonly [member: string]: (id: string, view: PageContext) => Promise<Renderable>;
  };
  name(record: R, view: PageContext): Later<string>;
  /** In a list, below the name. */
  below(record: R, view: PageContext): Later<Renderable>;
  /** What its own page says beside what the API shows of it. */
  more?(record: R, view: PageContext): Later<Renderable>;
}

const parentPath = (path: string): string => path.replace(/\/[^/]*$/, "");

/** The list of what belongs to one of something else stands on that one's page. */
const isNested = ({ path }: CrudPageOptions): boolean => parentPath(path).includes("{");
const listUrl = (of: CrudPageOptions): string =>
  parentPath(isNested(of) ? parentPath(of.path) : of.path);

const listOf = ({ path }: CrudPageOptions) => findOperation(`GET ${parentPath(path)}`);
const getOf = ({ path }: CrudPageOptions) => findOperation(`GET ${path}`);

/** What ends the address of the page that asks. */
const ASKS: { readonly [method: string]: string } = { PATCH: "/edit", DELETE: "/delete" };

type Action = ReturnType<typeof actionsFor>[number];

/** What can be done there, and the page that asks for what it takes. */
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

/** The ways to what this user may do: to make one, or what is done to the one of the page. */
const actionLinks = (of: CrudPageOptions, page: PageContext, making: boolean): Renderable =>
  actionsFor(of).map(({ row, at, button, makes }) => {
    if (makes !== making || page.permissionError(row)) return null;
    const path = dashboardUrl(at, page.params);
    // A button does it at once where nothing is asked.
    const asks = row.body || row.method === "DELETE";
    return asks ? link(path, button, "button") : page.form(path, html`<button>${button}</button>`);
  });

/** All addresses of it. */
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
 * A page of the list with the newest first, whereas the API lists in creation order, and the words by which the API can
 * choose among them. `skip` is in the query; one that makes no sense is none.
 */
export async function listView(of: CrudPageOptions, page: PageContext): Promise<Renderable> {
  const row = listOf(of);
  const [filter = "", words] =
    Object.entries(row.query.members).find(([, { json }]) => json.enum) ?? [];
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
  // What was just made is shown at the address of its form, which has no list.
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

/** What each is called and a line below, what stands at its right. */
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

/** `once` is what is shown this once, and what it is called. */
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

/** These members of one, on a line. */
export const summaryFields =
  (...members: readonly string[]) =>
  (record: object): Renderable =>
    members.map((each, at) => [
      at > 0 && " · ",
      `${labelFor(each)} `,
      fieldValue(each, Reflect.get(record, each)),
    ]);

/** What the API shows of it, but for what holds members of its own. */
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

/** Asks for what the operation takes, and does it once that was sent: a change is asked for as a whole. */
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

/** Leads to the page of what the operation answered, or else to the list. */
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
  for (const secret in row.shownOnce)
    if (members[secret])
      return onePage(of, createPageContext(page, params), [secret, members[secret]]);
  return redirect(dashboardUrl(shows.path, params) + said);
}
