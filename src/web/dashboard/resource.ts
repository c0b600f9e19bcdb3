// One kind of thing in the dashboard, said once: where the API has it, how one of them reads, and the words for it. Its
// pages - the list, one of them, and a form for each deed - are drawn from that and from the rows of the API below that
// path, which they call.
import type { Page } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import { API } from "../../http/api.ts";
import type { Operation } from "../../http/route.ts";
import type { Answer } from "../../http/way.ts";
import type { JsonSchema } from "../../kit/schema.ts";
import { bodyOf, type Choices, controls, type Form, type Hints, refusedForm } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, code, hidden, link, nothingYet, notice, prose, soft, tabs, terms, time } from "../parts.ts";
import { countIn, type Sent } from "../visit.ts";
import { type DashboardRow, deedOf, framed, operationAt, pageAt, type View, viewOf } from "./view.ts";

type Later<T> = T | Promise<T>;

interface Named {
  readonly id: string;
}

export interface Resource<R extends Named = Named> {
  /** Of one of them in the API: `/apps/{app_id}`. */
  readonly path: string;
  /** What follows from deleting one. */
  readonly lost?: string;
  /** For all its forms. */
  readonly hints?: Hints;
  readonly choices?: (view: View) => Promise<Choices>;
  /** Makes the body of what the form holds, where that is not the same. */
  readonly draft?: (sent: Form["values"]) => Form["values"] | Refusal;
  /** What is shown this once when one is made. */
  readonly once?: readonly [title: string, advice: string];
  readonly lead?: string;
  /** What is said where there is none. */
  readonly empty: string;
  name(record: R, view: View): Later<string>;
  /** In a list, below the name. */
  below(record: R, view: View): Later<Shown>;
  /** Its state, where that is more than its member `status`: in a list at the right, on its own page below the name. */
  right?(record: R, view: View): Later<Shown>;
  /** What its own page says beside what the API shows of it. */
  more?(view: View, record: R): Later<Shown>;
}

const above = (path: string): string => path.replace(/\/[^/]*$/, "");

/** The list of what belongs to one of something else stands on that one's page. */
const isWithin = ({ path }: Resource): boolean => path.split("{").length > 2;
const homeOf = (of: Resource): string => above(isWithin(of) ? above(of.path) : of.path);

const listOf = ({ path }: Resource) => operationAt(`GET ${above(path)}`);
const getOf = ({ path }: Resource) => operationAt(`GET ${path}`);

/** What ends the address of the page that asks. */
const ASKS: { readonly [method: string]: string } = { PATCH: "/edit", DELETE: "/delete" };

type Deed = ReturnType<typeof deedsOf>[number];

/** What can be done there, and the page that asks for what it takes: what it is for stands first, deleting it last. */
function deedsOf(of: Resource) {
  const all = API.rows.flatMap((row) => {
    const [name, button] = deedOf(row);
    const makes = row.path === above(of.path);
    if (button === "" || !(makes || row.path === of.path || above(row.path) === of.path)) return [];
    const at = row.path + (makes ? "/new" : (ASKS[row.method] ?? ""));
    const look = row.method === "DELETE" ? "bad" : makes ? "" : "quiet";
    return [{ row, name, button, makes, at, look, pressed: html`<button class="${look}">${button}</button>` }];
  });
  return all.sort((a, b) => b.row.method.localeCompare(a.row.method));
}

/** The ways to what this user may do: to make one, or what is done to the one of the page. */
const waysTo = (of: Resource, view: View, making: boolean): readonly Html[] =>
  deedsOf(of)
    .filter(({ row, makes }) => makes === making && view.may(row))
    .map(({ row, at, button, look, pressed }) => {
      const path = pageAt(at, view.params);
      // A button does it at once where nothing is asked.
      return row.body || look === "bad" ? link(path, button, `button ${look}`) : view.form(path, pressed);
    });

/** All addresses of it. */
export function pagesOf(of: Resource): readonly DashboardRow[] {
  const page = (operation: Operation, run: DashboardRow["run"], path = pageAt(operation.path)): DashboardRow => {
    return { method: "GET", path, operation, run };
  };
  return [
    ...(isWithin(of) ? [] : [page(listOf(of), (view) => listPage(of, view))]),
    page(getOf(of), (view) => onePage(of, view)),
    ...deedsOf(of).flatMap((deed): DashboardRow[] => {
      const form = page(deed.row, (view) => formPage(of, view, deed), pageAt(deed.at));
      return [form, { ...form, method: "POST", run: (view, sent) => perform(of, view, deed, sent) }];
    }),
  ];
}

async function listPage(of: Resource, view: View) {
  const body = html`<p class="lead">${prose(of.lead ?? "")}</p>${await listing(of, view)}`;
  return framed(view, { title: view.place, actions: waysTo(of, view, true), body });
}

const PAGE_LENGTH = 20;

/**
 * A page of the list with the newest first, whereas the API lists in creation order, and the words by which the API can
 * choose among them. `skip` is in the query; one that makes no sense is none.
 */
export async function listing(of: Resource, view: View) {
  const list = listOf(of);
  const [filter = "", words] = Object.entries(list.query.members).find(([, { json }]) => json.enum) ?? [];
  const values = words?.json.enum ?? [];
  const chosen = values.find((each) => each === view.query.get(filter));
  const read = (offset: number, limit: number) =>
    view.ask<Page<Named>>(list, { query: { offset, limit, [filter]: chosen } });
  const counted = await read(0, 0);
  if (counted instanceof Refusal) return null;
  const { total } = counted;
  const asked = countIn(view.query, "skip") ?? 0;
  const skip = asked < total ? asked : 0;
  const from = Math.max(total - skip - PAGE_LENGTH, 0);
  const found = await read(from, total - skip - from);
  const items = found instanceof Refusal ? [] : found.items.toReversed();
  const path = pageAt(homeOf(of), view.params);
  const links = values.map((each) => [each, `${path}?${filter}=${each}`] as const);
  return html`${links.length > 0 && tabs(filter, [["all", path], ...links], chosen ?? "all")}
${await rowsOf(of, view, items, chosen)}
${total > items.length && pager(skip, items.length, total, chosen ? `${path}?${filter}=${chosen}&` : `${path}?`)}`;
}

/** Newer and older; `address` carries what else the query says. */
function pager(skip: number, count: number, total: number, address: string): Html {
  const to = (rel: string, at: number, text: string) =>
    html`<a class="button quiet" rel="${rel}" href="${address}skip=${at}">${text}</a>`;
  return html`<nav class="row" aria-label="Pages">${soft(`${skip + 1} to ${skip + count} of ${total}, the newest first`)}
${skip > 0 && to("prev", Math.max(skip - PAGE_LENGTH, 0), "Newer")}${skip + count < total && to("next", skip + count, "Older")}</nav>`;
}

/** What each is called and a line below, what stands at its right. */
export async function rowsOf(of: Resource, view: View, items: readonly Named[], chosen = "") {
  const all = above(of.path);
  const many = pageAt(all).replace(/.*\//, "").replace("-", " ");
  if (items.length === 0) return nothingYet(`No ${chosen} ${many} yet`, of.empty);
  const rowOf = async (record: Named): Promise<Html> =>
    html`<li><div><div class="title"><a id="${record.id}" href="${pageAt(all, record)}/${record.id}">${await of.name(record, view)}</a></div>
<div class="soft">${await of.below(record, view)}</div></div><div class="row">${await stateOf(of, record, view)}</div></li>`;
  return html`<ul class="list card">${await Promise.all(items.map(rowOf))}</ul>`;
}

const stateOf = (of: Resource, record: Named, view: View): Later<Shown> =>
  of.right ? of.right(record, view) : "status" in record && badge(String(record.status));

/** `once` is what is shown this once. */
async function onePage(of: Resource, view: View, once?: string) {
  const get = getOf(of);
  const record = await view.ask<Named>(get);
  if (record instanceof Refusal) return record;
  const { params } = view;
  return framed(view, {
    title: await of.name(record, view),
    status: once === undefined ? 200 : 201,
    above: html`${soft(html`${link(pageAt(homeOf(of), params), view.place)} <span data-live="${pageAt(of.path, params)}"></span>`)}
${once && notice("good", html`<p class="title">${of.once?.[0]}</p>${code(once, "secret")}${soft(of.once?.[1])}`)}`,
    actions: waysTo(of, view, false),
    body: html`<div data-follow><p class="row">${await stateOf(of, record, view)}</p>
${await of.more?.(view, record)}<h2>Details</h2>${allOf(view.shown(get, record).members)}</div>`,
  });
}

const named = (member: string): string => member.replaceAll("_", " ");

function factOf(member: string, value: unknown): Shown {
  if (value && /_at$|^created$/.test(member)) return time(String(value));
  return [value ?? ""].flat().join(", ") || "none";
}

/** These members of one, on a line. */
export const facts =
  (...members: readonly string[]) =>
  (record: object): Shown =>
    members.map((each, at) => [at > 0 && " · ", `${named(each)} `, factOf(each, Reflect.get(record, each))]);

/** What the API shows of it, but for what holds members of its own. */
function allOf(shown: object): Html {
  const plain = Object.entries(shown).filter(([, value]) => ![value].flat().some((each) => each === Object(each)));
  return terms(plain.map(([member, value]) => [named(member), factOf(member, value)]));
}

/** The body that it takes; a change is asked for as a whole. */
const schemaOf = ({ path }: Resource, row: Operation, { services }: View): JsonSchema =>
  (row.method === "PATCH" ? operationAt(`POST ${above(path)}`) : row).body?.(services).json ?? {};

/** Asks for what the operation takes; `refused` is what was sent in vain. */
async function formPage(of: Resource, view: View, { row, makes, button, look, pressed }: Deed, refused?: Form) {
  const get = getOf(of);
  const record = makes ? undefined : await view.ask<Named>(get);
  if (record instanceof Refusal) return record;
  const { call, form } = view;
  const schema = schemaOf(of, row, view);
  const values = row.method === "PATCH" ? view.shown(get, record).members : Object.fromEntries(view.query);
  const title = record ? `${button} ${await of.name(record, view)}` : button;
  const fields = controls(refused ?? { values }, schema, of.hints, await of.choices?.(view));
  const asked = html`${row.method !== "PATCH" && hidden("once", call.id)}<p>${look === "bad" && of.lost}</p>${fields}
<div class="row">${pressed}${link(above(call.path), "Cancel", "button quiet")}</div>`;
  return framed(view, { title, status: refused?.status, body: form(call.path, asked, "card form") });
}

/** Does it, and leads to the page of what it answers, or else to the list. */
async function perform(of: Resource, view: View, deed: Deed, sent: Sent): Promise<Answer> {
  const { row, name } = deed;
  const filled = bodyOf(sent, schemaOf(of, row, view));
  const body = of.draft ? of.draft(filled) : filled;
  const kept = body instanceof Refusal ? body : await view.ask(row, { body });
  if (kept instanceof Refusal) return formPage(of, view, deed, refusedForm(filled, kept));
  const shows = API.rows.find(({ method, view: shown }) => method === "GET" && shown === row.view);
  if (shows === undefined) return redirect(`${pageAt(homeOf(of), view.params)}?done=${name}`);
  const { members, once } = view.shown(row, kept);
  const [, param = ""] = /\{(\w+)\}$/.exec(shows.path) ?? [];
  const params = { ...view.params, [param]: members.id ?? "" };
  if (once !== undefined) return onePage(of, viewOf(view, params), once);
  return redirect(`${pageAt(shows.path, params)}?done=${name}`);
}
