// One kind of thing in the dashboard, said once: where the API has it, how one of them reads, and the words for it. Its
// pages - the list, one of them, and a form for each deed - are drawn from that and from the rows of the API below that
// path, which they call.
import type { Page } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Stored } from "../../domain/store.ts";
import { API } from "../../http/api.ts";
import { isRead } from "../../http/call.ts";
import type { Operation } from "../../http/route.ts";
import { bodyOf, type Choices, controls, type Form, type Hints, named, refusedForm } from "../form.ts";
import { badge, code, hidden, html, link, list, notice, prose, type Shown, soft, tabs, terms, time } from "../html.ts";
import { redirect } from "../page.ts";
import { countIn, type Sent } from "../visit.ts";
import { type DashboardRow, DEEDS, framed, operationAt, pageAt, type View, viewOf } from "./view.ts";

type Later<T> = T | Promise<T>;

export interface Resource<R extends Stored = Stored> {
  /** Of one of them in the API: `/apps/{app_id}`. */
  readonly path: string;
  /** What stands above a list of them. */
  readonly lead: string;
  /** What follows from deleting one. */
  readonly lost?: string;
  /** For all its forms. */
  readonly hints?: Hints;
  /** From what people choose, where the form holds these values. */
  readonly choices?: (view: View, held: Form["values"]) => Promise<Choices>;
  /** Makes the body of what the form holds, where that is not the same. */
  readonly draft?: (sent: Form["values"]) => Form["values"] | Refusal;
  /** How its own page shows the thing that a member holds the id of; where nothing is returned it shows the id. */
  readonly references?: { readonly [member: string]: (id: string, view: View) => Promise<Shown> };
  name(record: R, view: View): Later<string>;
  /** In a list, below the name. */
  below(record: R, view: View): Later<Shown>;
  /** What its own page says beside what the API shows of it. */
  more?(record: R, view: View): Later<Shown>;
}

const above = (path: string): string => path.replace(/\/[^/]*$/, "");

/** The list of what belongs to one of something else stands on that one's page. */
const isWithin = ({ path }: Resource): boolean => above(path).includes("{");
const homeOf = (of: Resource): string => above(isWithin(of) ? above(of.path) : of.path);

const listOf = ({ path }: Resource) => operationAt(`GET ${above(path)}`);
const getOf = ({ path }: Resource) => operationAt(`GET ${path}`);

/** What ends the address of the page that asks. */
const ASKS: { readonly [method: string]: string } = { PATCH: "/edit", DELETE: "/delete" };

type Deed = ReturnType<typeof deedsOf>[number];

/** What can be done there, and the page that asks for what it takes. */
const deedsOf = ({ path }: Resource) =>
  DEEDS.flatMap(([name, button]) =>
    API.rows.flatMap((row) => {
      const { operation, method, path: at } = row;
      const makes = at === above(path);
      const isHere = [operation, method].includes(name) && (makes || at === path || above(at) === path);
      return isHere ? { row, name, button, makes, at: at + (makes ? "/new" : (ASKS[method] ?? "")) } : [];
    }),
  );

/** The ways to what this user may do: to make one, or what is done to the one of the page. */
const waysTo = (of: Resource, view: View, making: boolean): Shown =>
  deedsOf(of).map(({ row, at, button, makes }) => {
    if (makes !== making || view.unfit(row)) return null;
    const path = pageAt(at, view.params);
    // A button does it at once where nothing is asked.
    const asks = row.body || row.method === "DELETE";
    return asks ? link(path, button, "button") : view.form(path, html`<button>${button}</button>`);
  });

/** All addresses of it. */
export function pagesOf(of: Resource): readonly DashboardRow[] {
  const page = (operation: Operation, run: DashboardRow["run"], path = operation.path): DashboardRow => {
    return { method: "GET", path: pageAt(path), operation, run };
  };
  return [
    ...(isWithin(of) ? [] : [page(listOf(of), (view) => listPage(of, view))]),
    page(getOf(of), (view) => onePage(of, view)),
    ...deedsOf(of).flatMap((deed): DashboardRow[] => {
      const form = page(deed.row, (view, sent) => formPage(of, view, deed, sent), deed.at);
      return [form, { ...form, method: "POST" }];
    }),
  ];
}

const listPage = async (of: Resource, view: View) =>
  framed(view, { title: view.place, actions: waysTo(of, view, true), body: await listing(of, view) });

const PAGE_LENGTH = 20;

/**
 * A page of the list with the newest first, whereas the API lists in creation order, and the words by which the API can
 * choose among them. `skip` is in the query; one that makes no sense is none.
 */
export async function listing(of: Resource, view: View): Promise<Shown> {
  const row = listOf(of);
  const [filter = "", words] = Object.entries(row.query.members).find(([, { json }]) => json.enum) ?? [];
  const values = words?.json.enum ?? [];
  const chosen = values.find((each) => each === view.query.get(filter));
  const read = async (offset: number, limit: number) => {
    const found = await view.ask<Page<Stored>>(row, { query: { offset, limit, [filter]: chosen } });
    return found instanceof Refusal ? { items: [], total: 0 } : found;
  };
  const { total } = await read(0, 0);
  const asked = countIn(view.query, "skip") ?? 0;
  const skip = asked < total ? asked : 0;
  const from = Math.max(total - skip - PAGE_LENGTH, 0);
  const items = (await read(from, total - skip - from)).items.toReversed();
  const end = skip + items.length;
  // What was just made is shown at the address of its form, which has no list.
  const home = `${pageAt(homeOf(of), view.params)}?`;
  const to = (rel: string, at: number, text: string) =>
    html`<a class="button" rel="${rel}" href="${home}${chosen && `${filter}=${chosen}&`}skip=${at}">${text}</a>`;
  return html`<p class="lead">${prose(of.lead)}</p>
${filter && tabs(filter, [["all", home], ...values.map((each) => [each, `${home}${filter}=${each}`] as const)], chosen ?? "all")}
${await rowsOf(of, view, items, chosen)}
${
  total > items.length &&
  html`<nav class="row" aria-label="Pages">${soft(`${skip + 1} to ${end} of ${total}, the newest first`)}
${skip > 0 && to("prev", Math.max(skip - PAGE_LENGTH, 0), "Newer")}${end < total && to("next", end, "Older")}</nav>`
}`;
}

/** What each is called and a line below, what stands at its right. */
export async function rowsOf(of: Resource, view: View, items: readonly Stored[], chosen = ""): Promise<Shown> {
  const all = pageAt(above(of.path));
  const many = all.replace(/.*\//, "").replace("-", " ").replace("api", "API").replace("oauth", "OAuth");
  if (items.length === 0) return html`<p class="card">No ${chosen} ${many} yet.</p>`;
  const rowOf = async (record: Stored) =>
    html`<strong><a id="${record.id}" href="${pageAt(above(of.path), record)}/${record.id}">${await of.name(record, view)}</a></strong>
${soft(await of.below(record, view))}`;
  return html`<div class="card list">${list(await Promise.all(items.map(rowOf)))}</div>`;
}

const ONCE = "Copy it now: it is never shown again.";

/** `once` is what is shown this once, and what it is called. */
async function onePage(of: Resource, view: View, once?: readonly [name: string, value: Shown]) {
  const get = getOf(of);
  const record = await view.ask<Stored>(get);
  if (record instanceof Refusal) return record;
  const { params, place } = view;
  return framed(view, {
    title: await of.name(record, view),
    status: once ? 201 : 200,
    actions: waysTo(of, view, false),
    body: html`${soft(html`${link(pageAt(homeOf(of), params), isWithin(of) ? place.slice(0, -1) : place)} <span data-live="${pageAt(of.path, params)}"></span>`)}
${once && notice("status", html`<strong>Its ${named(once[0])}</strong>${code(once[1], "secret")}${soft(ONCE)}`)}
<div data-follow>${await of.more?.(record, view)}<h2>Details</h2>${await allOf(of, view.shown(get, record), view)}</div>`,
  });
}

function factOf(member: string, value: unknown): Shown {
  if (member === "status") return badge(String(value));
  if (value && /_at$|^created$/.test(member)) return time(String(value));
  return [value ?? ""].flat().join(", ") || "none";
}

/** These members of one, on a line. */
export const facts =
  (...members: readonly string[]) =>
  (record: object): Shown =>
    members.map((each, at) => [at > 0 && " · ", `${named(each)} `, factOf(each, Reflect.get(record, each))]);

/** What the API shows of it, but for what holds members of its own. */
async function allOf({ references = {} }: Resource, shown: object, view: View): Promise<Shown> {
  const plain = Object.entries(shown).filter(([, value]) => ![value].flat().some((each) => each === Object(each)));
  const entries = plain.map(async ([member, value]) => {
    const refer = references[member];
    const label = refer ? member.replace(/_id$/, "") : member;
    return [named(label), (value && (await refer?.(value, view))) || factOf(member, value)] as const;
  });
  return terms(await Promise.all(entries));
}

/** Asks for what the operation takes, and does it once that was sent: a change is asked for as a whole. */
async function formPage(of: Resource, view: View, { row, name, makes, button }: Deed, sent: Sent) {
  const record = makes ? undefined : await view.ask<Stored>(getOf(of));
  if (record instanceof Refusal) return record;
  const { call, services, form } = view;
  const changes = row.method === "PATCH";
  const { body: takes } = changes ? operationAt(`POST ${above(of.path)}`) : row;
  const schema = takes?.(services).json ?? {};
  let shown: Form = { values: changes ? view.shown(getOf(of), record) : Object.fromEntries(view.query) };
  if (!isRead(call)) {
    const values = bodyOf(sent, schema);
    const body = of.draft ? of.draft(values) : values;
    const kept = body instanceof Refusal ? body : await view.ask(row, { body });
    if (!(kept instanceof Refusal)) return done(of, view, row, kept, `?done=${name}`);
    shown = refusedForm(values, kept);
  }
  const asked = html`${!changes && hidden("once", call.id)}${row.method === "DELETE" && html`<p>${of.lost}</p>`}
${controls(shown, schema, of.hints, await of.choices?.(view, shown.values))}
<div class="row"><button>${button}</button>${link(above(call.path), "Cancel", "button")}</div>`;
  const title = record ? `${button} ${await of.name(record, view)}` : button;
  return framed(view, { title, status: shown.status, body: form(call.path, asked, "card") });
}

/** Leads to the page of what the operation answered, or else to the list. */
async function done(of: Resource, view: View, row: Operation, kept: unknown, said: string) {
  const shows = API.rows.find(({ method, view: shown }) => method === "GET" && shown === row.view);
  if (shows === undefined) return redirect(pageAt(homeOf(of), view.params) + said);
  const members = view.shown(row, kept);
  const [, param = ""] = /\{(\w+)\}$/.exec(shows.path) ?? [];
  const params = { ...view.params, [param]: members.id ?? "" };
  for (const secret in row.once)
    if (members[secret]) return onePage(of, viewOf(view, params), [secret, members[secret]]);
  return redirect(pageAt(shows.path, params) + said);
}
