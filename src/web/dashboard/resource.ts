// One kind of thing in the dashboard, said once: what its operations are called, how one of them reads, and the words for
// it. Its pages - the list, one of them, and a form for each deed - are drawn from that and from the schemas of the
// operations, which they call.
import type { Page } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import {
  blankForm,
  bodyOf,
  type Choices,
  controls,
  type Form,
  type Hints,
  membersOf,
  refusedForm,
  valuesOf,
} from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, copyButton, head, nothingYet, notice, tabs, terms, time } from "../parts.ts";
import { type Done, framed, PATHS, type Place, refusedPage } from "./frame.ts";
import type { DashboardRow, View } from "./view.ts";

type Later<T> = T | Promise<T>;

interface Named {
  readonly id: string;
}

/** What can be done: a page of its own, below that of what it is done to, asks for what the operation takes. */
interface Deed {
  readonly path: string;
  readonly operation: string;
  readonly button: string;
  readonly done: Done;
  /** Where what it makes has its pages, below that of what it is done to. */
  readonly makes?: string;
}

const CREATE = { path: "/new", done: "created", makes: "" } as const;
const UPDATE = { path: "/edit", button: "Change", done: "updated" } as const;
const DELETE = { path: "/delete", button: "Delete", done: "deleted" } as const;

export interface Resource<R extends Named> {
  /** As the operations call it: listApps, getApp. */
  readonly noun: string;
  /** As people call one, and the path's parameter. */
  readonly one: string;
  readonly place: Place;
  /** Below the path of the place, where it belongs to one of something else. */
  readonly within?: string;
  /** The words that make one and say what follows from removing one; without them neither can be done here. */
  readonly make?: string;
  readonly lost?: string;
  readonly changes?: true;
  readonly deeds?: readonly Deed[];
  /** For all its forms. */
  readonly hints?: Hints;
  readonly choices?: (view: View) => Promise<Choices>;
  /** Makes the body of what the form holds, where that is not the same. */
  readonly draft?: (sent: Form["values"]) => Form["values"] | Refusal;
  /** What is shown this once when one is made. */
  readonly once?: readonly [title: string, advice: string];
  /** The parameter of the list from whose values people choose. */
  readonly filter?: string;
  readonly lead?: Shown;
  /** What is said where there is none. */
  readonly empty: string;
  readonly name: (record: R, view: View) => Later<string>;
  /** In a list, below the name. */
  readonly below: (record: R, view: View) => Later<Shown>;
  /** Its state, where that is more than its member `status`: in a list at the right, on its own page below the name. */
  readonly right?: (record: R, view: View) => Later<Shown>;
  /** What its own page says beside what the API shows of it. */
  readonly more?: (view: View, record: R) => Later<Shown>;
  /** Its own page follows what happens, where the script runs. */
  readonly live?: true;
}

type Verb = "list" | "get" | "create" | "update" | "delete";

const operation = ({ noun }: { readonly noun: string }, verb: Verb): string =>
  verb === "list" ? `list${noun.replace(/(?<=[^aeiou])y$/, "ie")}s` : verb + noun;

const paramOf = ({ one }: Resource<never>): string => `${one.replace(" ", "_")}_id`;

/** Where its list is, or would be; the pages of one are below. */
const listOf = ({ place, within = "" }: Resource<never>): string => PATHS[place] + within;
/** The page that holds its list. */
const homeOf = (of: Resource<never>): string => (of.within === undefined ? listOf(of) : above(listOf(of)));

const above = (path: string): string => path.replace(/\/[^/]*$/, "");

/** A path with the values of its parameters. */
const filled = (path: string, values: object): string =>
  Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, String(value)), path);

const addressOf = (of: Resource<never>, record: Named): string => `${filled(listOf(of), record)}/${record.id}`;

/** What can be done to one of them. */
const deedsOf = (of: Resource<never>): readonly Deed[] => [
  ...(of.changes ? [{ ...UPDATE, operation: operation(of, "update") }] : []),
  ...(of.deeds ?? []),
  ...(of.lost ? [{ ...DELETE, operation: operation(of, "delete") }] : []),
];

/** All addresses of it. */
export function pagesOf<R extends Named>(of: Resource<R>): readonly DashboardRow[] {
  const [all, one] = [listOf(of), `${listOf(of)}/{${paramOf(of)}}`];
  type Line = readonly ["GET" | "POST", path: string, operation: string, run: DashboardRow["run"]];
  const form = (at: string, deed: Deed): readonly Line[] => [
    ["GET", at + deed.path, deed.operation, (view) => formPage(of, view, deed)],
    ["POST", at + deed.path, deed.operation, (view) => perform(of, view, deed)],
  ];
  const lines: readonly Line[] = [
    ...(of.within ? [] : [["GET", all, operation(of, "list"), (view: View) => listPage(of, view)] as const]),
    ...(of.make ? form(all, { ...CREATE, operation: operation(of, "create"), button: of.make }) : []),
    ["GET", one, operation(of, "get"), (view) => onePage(of, view, view.params)],
    ...deedsOf(of).flatMap((deed) => form(one, deed)),
  ];
  return lines.map(([method, path, named, run]) => ({ method, path, operation: named, run }));
}

async function listPage<R extends Named>(of: Resource<R>, view: View): Promise<Reply> {
  const { place, make, lead } = of;
  const may = make && view.may(operation(of, "create"));
  const add = may && html`<a class="button" href="${listOf(of)}/new">${make}</a>`;
  const body = html`${head(place, add)}${lead && html`<p class="lead">${lead}</p>`}${await listing(of, view)}`;
  return framed(view, { title: place, place, body });
}

const PAGE_LENGTH = 20;

/**
 * A page of the list with the newest first, whereas the API lists in creation order. `skip` is in the query; one that makes
 * no sense is none. `params` are those of the list's path.
 */
export async function listing<R extends Named>(of: Resource<R>, view: View, params: View["params"] = {}) {
  const { filter = "" } = of;
  const path = filled(homeOf(of), params);
  const values = valuesOf(membersOf(view.row(operation(of, "list")).query.json)[filter]);
  const chosen = values.find((each) => each === view.query(filter));
  const read = (offset: number, limit: number) => {
    const query = { offset: String(offset), limit: String(limit), ...(chosen !== undefined && { [filter]: chosen }) };
    return view.ask<Page<R>>(operation(of, "list"), { params, query });
  };
  const counted = await read(0, 1);
  if (counted instanceof Refusal) return null;
  const { total } = counted;
  const skip = Number(/^\d{1,9}$/.exec(view.query("skip") ?? "")?.[0] ?? 0);
  const [from, end] = [Math.max(total - skip - PAGE_LENGTH, 0), Math.max(total - skip, 0)];
  const found = end === 0 ? counted : await read(from, end - from);
  const items = found instanceof Refusal || end === 0 ? [] : found.items.toReversed();
  const to = (value: string) => `${path}?${filter}=${value}`;
  const links = [["all", path] as const, ...values.map((each) => [each, to(each)] as const)];
  return html`${values.length > 0 && tabs(filter, links, chosen ?? "all")}
${await rowsOf(of, view, items, chosen)}
${total > end - from && pager(total - end, end - from, total, chosen === undefined ? `${path}?` : `${to(chosen)}&`)}`;
}

/** Newer and older; `address` carries what else the query says. */
const pager = (skip: number, count: number, total: number, address: string): Html =>
  html`<nav class="row" aria-label="Pages"><span class="soft">${Math.min(skip + 1, total)} to ${skip + count} of ${total}, the newest first</span>
${skip > 0 && html`<a class="button quiet small" rel="prev" href="${address}skip=${Math.max(skip - PAGE_LENGTH, 0)}">Newer</a>`}
${skip + count < total && html`<a class="button quiet small" rel="next" href="${address}skip=${skip + count}">Older</a>`}</nav>`;

/** What each is called and a line below, what stands at its right. */
export async function rowsOf<R extends Named>(
  of: Resource<R>,
  view: View,
  items: readonly R[],
  chosen = "",
): Promise<Html> {
  if (items.length === 0)
    return nothingYet(`No ${chosen} ${listOf(of).replace(/.*\//, "").replace("-", " ")} yet`, of.empty);
  const rowOf = async (record: R): Promise<Html> =>
    html`<li><div><div class="title"><a id="${record.id}" href="${addressOf(of, record)}">${await of.name(record, view)}</a></div>
<div class="soft">${await of.below(record, view)}</div></div><div class="row">${await stateOf(of, record, view)}</div></li>`;
  return html`<ul class="list card">${await Promise.all(items.map(rowOf))}</ul>`;
}

const stateOf = <R extends Named>({ right }: Resource<R>, record: R, view: View): Later<Shown> =>
  right ? right(record, view) : "status" in record && badge(String(record.status));

/** The page of the one that `params` name. `once` is what is shown this once. */
async function onePage<R extends Named>(
  of: Resource<R>,
  view: View,
  params: View["params"],
  once?: unknown,
): Promise<Reply> {
  const record = await view.ask<R>(operation(of, "get"), { params });
  if (record instanceof Refusal) return refusedPage(view, record, of.place);
  const { place, live } = of;
  const at = addressOf(of, record);
  const name = await of.name(record, view);
  const deeds = deedsOf(of).filter((deed) => view.may(deed.operation));
  return framed(view, {
    title: name,
    place,
    status: once === undefined ? 200 : 201,
    body: html`<p class="soft"><a href="${filled(homeOf(of), record)}">${place}</a>${live && html` <span data-live="${at}"></span>`}</p>
${typeof once === "string" && of.once && shownOnce(of.once[0], once, of.once[1])}
${head(
  name,
  deeds.map((deed) => wayTo(deed, at, view)),
)}
<div data-follow><p class="row">${await stateOf(of, record, view)}</p>
${await of.more?.(view, record)}<h2>Details</h2>${factsOf(view, operation(of, "get"), record)}</div>`,
  });
}

/** A button does it at once where nothing is asked. */
const wayTo = ({ path, operation: named, button, done }: Deed, at: string, { visit, row }: View): Html =>
  row(named).body || done === "deleted"
    ? html`<a class="button ${done === "deleted" ? "bad" : "quiet"}" href="${at}${path}">${button}</a>`
    : html`<form method="post" action="${at}${path}">${visit.csrfField}<button class="quiet">${button}</button></form>`;

/** The value, and a button to copy it where the script runs. */
const shownOnce = (title: string, value: string, advice: Shown): Html =>
  notice(
    "good",
    html`<p class="title">${title}</p><div class="row"><code class="secret" id="secret">${value}</code>${copyButton}</div><p class="soft">${advice}</p>`,
  );

/** What the API shows of it, but for what holds members of its own. */
function factsOf(view: View, get: string, record: Named): Html {
  const isPlain = (value: unknown): boolean =>
    Array.isArray(value) ? value.every(isPlain) : typeof value !== "object" || value === null;
  const plain = Object.entries(view.shown(get, record).members).filter(([, value]) => isPlain(value));
  return terms(plain.map(([name, value]) => [name.replaceAll("_", " "), factOf(name, value)]));
}

function factOf(name: string, value: unknown): Shown {
  const text = value === null || value === "" ? "none" : [value].flat().join(", ");
  if (value !== null && (name.endsWith("_at") || name === "created")) return time(text);
  return /(id|url|uris)$/.test(name) ? html`<code>${text}</code>` : text;
}

/** The body that a deed takes; a change is asked for as a whole. */
const schemaOf = <R extends Named>(of: Resource<R>, { done, operation: named }: Deed, view: View) =>
  view.body(done === "updated" ? operation(of, "create") : named);

/** Asks for what the deed takes; `refused` is what was sent in vain. */
async function formPage<R extends Named>(of: Resource<R>, view: View, deed: Deed, refused?: Form): Promise<Reply> {
  const { place } = of;
  const { button, done } = deed;
  const record = done === "created" ? undefined : await view.ask<R>(operation(of, "get"));
  if (record instanceof Refusal) return refusedPage(view, record, place);
  const { call, csrfField } = view.visit;
  const schema = schemaOf(of, deed, view);
  const there = done === "updated" && { values: view.shown(operation(of, "get"), record).members };
  const form = refused ?? (there || blankForm(schema, view.query));
  const title = record ? `${button} ${await of.name(record, view)}` : button;
  const fields = controls(form, schema, of.hints, await of.choices?.(view));
  return framed(view, {
    title,
    place,
    status: refused?.status,
    body: html`${head(title)}<form class="card form" method="post" action="${call.path}" enctype="multipart/form-data">${csrfField}<input type="hidden" name="once" value="${call.id}">
${done === "deleted" && html`<p>${of.lost}</p>`}${fields}
<div class="row"><button${done === "deleted" && html` class="bad"`}>${button}</button><a class="button quiet" href="${above(call.path)}">Cancel</a></div></form>`,
  });
}

async function perform<R extends Named>(of: Resource<R>, view: View, deed: Deed): Promise<Reply> {
  const { operation: named, done, makes } = deed;
  const sent = bodyOf(view.fields, schemaOf(of, deed, view));
  const body = of.draft ? of.draft(sent) : sent;
  const kept = body instanceof Refusal ? body : await view.ask(named, { body });
  if (kept instanceof Refusal) return formPage(of, view, deed, refusedForm(sent, kept, view.explain));
  const page = above(view.visit.call.path);
  if (makes === undefined) return redirect(`${done === "deleted" ? above(page) : page}?done=${done}`);
  const { members, once } = view.shown(named, kept);
  const { id = "" } = members;
  if (once !== undefined) return onePage(of, view, { ...view.params, [paramOf(of)]: id }, once);
  return redirect(`${page}${makes}/${id}?done=${done}`);
}
