// One kind of thing in the dashboard, said once: what its operations are called, how one of them reads, and the words for
// it. Its pages - list, form, one of them, and what can be done to one - are drawn from that and from the schemas of the
// operations, which they call.
import type { Page } from "../../domain/lists.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { blankForm, bodyOf, controls, type Fields, type Form, membersOf, refusedForm, valuesOf } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { danger, facts, head, list, nothingYet, pager, row, shownOnce, tabs, time } from "../parts.ts";
import { framed, PATHS, type Place, refusedPage } from "./frame.ts";
import type { DashboardRow, View } from "./view.ts";

type Later<T> = T | Promise<T>;

interface Named {
  readonly id: string;
}

/** What else can be done to one of them: posted below its path, it leads to the page of what it was done to. */
interface Action {
  readonly path: string;
  readonly operation: string;
  readonly button: string;
  readonly fields?: Fields;
  readonly done: string;
  /** Where what it makes has its pages, below those of the one that it is done to. */
  readonly makes?: string;
}

export interface Resource<R extends Named> {
  /** As the operations call it: listApps, getApp. */
  readonly noun: string;
  /** As people call one. */
  readonly one: string;
  /** The path's parameter, as the API calls it. */
  readonly param: string;
  readonly place: Place;
  /** Below the path of the place, where it belongs to one of something else. */
  readonly within?: string;
  /** The words that make one, change one, and say what follows from removing one; without them it cannot be done here. */
  readonly make?: string;
  readonly edit?: string;
  readonly lost?: Shown;
  readonly actions?: readonly Action[];
  readonly fields?: (view: View) => Later<Fields>;
  /** Makes the body of what the form holds, where that is not the same. */
  readonly draft?: (sent: Form["values"]) => Form["values"] | Refusal;
  /** What is shown this once when one is made. */
  readonly once?: readonly [title: string, advice: string];
  /** The parameter of the list from whose values people choose. */
  readonly filter?: string;
  readonly lead?: Shown;
  readonly empty: readonly [title: string, advice: string];
  readonly name: (record: R, view: View) => Later<string>;
  /** In a list, below the name and at its right; the latter beside the name on its own page, too. */
  readonly below: (record: R, view: View) => Later<Shown>;
  readonly right: (record: R, view: View) => Later<Shown>;
  /** What its own page says beside what the API shows of it. */
  readonly more?: (view: View, record: R) => Later<Shown>;
  /** Its own page follows what happens, where the script runs. */
  readonly live?: true;
}

type Verb = "list" | "get" | "create" | "update" | "delete";

export const operation = ({ noun }: { readonly noun: string }, verb: Verb): string =>
  verb === "list" ? `list${noun.replace(/(?<=[^aeiou])y$/, "ie")}s` : verb + noun;

const patternOf = ({ place, within = "" }: Pick<Resource<never>, "place" | "within">): string => PATHS[place] + within;

/** Where its list is; the pages of one are below. */
const pathOf = (of: Pick<Resource<never>, "place" | "within">, { params }: View): string =>
  patternOf(of).replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? "");

/** All addresses of it. */
export function pagesOf<R extends Named>(of: Resource<R>): readonly DashboardRow[] {
  const all = patternOf(of);
  const one = `${all}/{${of.param}}`;
  const on = (method: "GET" | "POST", path: string, named: string, run: DashboardRow["run"]) => [
    { method, path, operation: named, run },
  ];
  const form = (path: string, verb: "create" | "update", to: string) => [
    ...on("GET", path, operation(of, verb), (view) => formPage(of, view)),
    ...on("POST", to, operation(of, verb), (view) => send(of, view, verb)),
  ];
  return [
    ...(of.within === undefined ? on("GET", all, operation(of, "list"), (view) => listPage(of, view)) : []),
    ...(of.make ? form(`${all}/new`, "create", all) : []),
    ...on("GET", one, operation(of, "get"), (view) => onePage(of, view, view.params)),
    ...(of.edit ? form(`${one}/edit`, "update", `${one}/edit`) : []),
    ...(of.lost ? on("POST", `${one}/delete`, operation(of, "delete"), (view) => remove(of, view)) : []),
    ...(of.actions ?? []).flatMap((each) => on("POST", one + each.path, each.operation, (view) => act(of, view, each))),
  ];
}

async function listPage<R extends Named>(of: Resource<R>, view: View): Promise<Reply> {
  const { place, make, lead } = of;
  const may = make && view.may(operation(of, "create"));
  const add = may && html`<a class="button" href="${pathOf(of, view)}/new">${make}</a>`;
  const body = html`${head(place, add)}${lead && html`<p class="lead">${lead}</p>`}${await listing(of, view)}`;
  return framed(view, { title: place, place, body });
}

const PAGE_LENGTH = 20;

/**
 * A page of the list with the newest first, whereas the API lists in creation order. `skip` is in the query; one that makes
 * no sense is none. `path` is the address of the page that holds the list.
 */
export async function listing<R extends Named>(
  of: Resource<R>,
  view: View,
  path = pathOf(of, view),
  limit = PAGE_LENGTH,
) {
  const { filter = "", empty } = of;
  const named = operation(of, "list");
  const values = valuesOf(membersOf(view.row(named).query.json)[filter]);
  const chosen = values.find((each) => each === view.query(filter));
  const read = (offset: number, most: number) => {
    const query = { offset: String(offset), limit: String(most), ...(chosen !== undefined && { [filter]: chosen }) };
    return view.ask<Page<R>>(named, { query });
  };
  const skip = Number(/^\d{1,9}$/.exec(view.query("skip") ?? "")?.[0] ?? 0);
  const counted = await read(0, 1);
  if (counted instanceof Refusal) return null;
  const { total } = counted;
  const [from, end] = [Math.max(total - skip - limit, 0), Math.max(total - skip, 0)];
  const found = end === 0 ? counted : await read(from, end - from);
  const items = found instanceof Refusal || end === 0 ? [] : found.items.toReversed();
  const to = (value: string) => `${path}?${filter}=${value}`;
  const links = [["all", path] as const, ...values.map((each) => [each, to(each)] as const)];
  return html`${values.length > 0 && html`<nav class="tabs" aria-label="${filter}">${tabs(links, chosen ?? "all")}</nav>`}
${total > 0 ? await rowsOf(of, view, items) : nothingYet(chosen === undefined ? empty[0] : `Nothing is ${chosen}`, empty[1])}
${pager(skip, limit, total, chosen === undefined ? path : to(chosen))}`;
}

export async function rowsOf<R extends Named>(of: Resource<R>, view: View, items: readonly R[]): Promise<Html> {
  const path = pathOf(of, view);
  const rowOf = async (record: R): Promise<Html> =>
    row(
      html`<a id="${record.id}" href="${path}/${record.id}">${await of.name(record, view)}</a>`,
      await of.below(record, view),
      await of.right(record, view),
    );
  return list(await Promise.all(items.map(rowOf)));
}

/** The form that makes one, or changes the one of the path; `refused` is what was sent in vain. */
async function formPage<R extends Named>(of: Resource<R>, view: View, refused?: Form): Promise<Reply> {
  const { place, param, make = "", edit, fields } = of;
  const record = param in view.params ? await view.ask<R>(operation(of, "get")) : undefined;
  if (record instanceof Refusal) return refusedPage(view, record, place);
  const back = record ? `${pathOf(of, view)}/${record.id}` : pathOf(of, view);
  const asked = (await fields?.(view)) ?? {};
  const schema = view.body(operation(of, "create"));
  const there = record && { values: view.shown(operation(of, "get"), record).members };
  const form = refused ?? there ?? blankForm(schema, view.query);
  const title = record ? `${edit} ${await of.name(record, view)}` : make;
  const type = Object.values(asked).some(({ accept }) => accept) && html` enctype="multipart/form-data"`;
  return framed(view, {
    title,
    place,
    status: refused?.status,
    body: html`${head(title)}<form class="card form" method="post" action="${record ? `${back}/edit` : back}"${type}>${view.visit.csrfField}${!record && html`<input type="hidden" name="once" value="${view.visit.call.id}">`}
${controls(form, schema, asked)}
<div class="row"><button>${record ? "Save" : make}</button><a class="button quiet" href="${back}">Cancel</a></div></form>`,
  });
}

async function send<R extends Named>(of: Resource<R>, view: View, verb: "create" | "update"): Promise<Reply> {
  const sent = bodyOf(view.fields, view.body(operation(of, "create")), (await of.fields?.(view)) ?? {});
  const body = of.draft ? of.draft(sent) : sent;
  const kept = body instanceof Refusal ? body : await view.ask(operation(of, verb), { body });
  if (kept instanceof Refusal) return formPage(of, view, refusedForm(sent, kept, view.explain));
  const { members, once } = view.shown(operation(of, verb), kept);
  const { id = "" } = members;
  if (verb === "create" && of.once) return onePage(of, view, { ...view.params, [of.param]: id }, { once });
  return redirect(`${pathOf(of, view)}/${id}?done=${verb}d`);
}

/** The page of the one that `params` name. `once` is what is shown this once. */
async function onePage<R extends Named>(
  of: Resource<R>,
  view: View,
  params: View["params"],
  { once, refused }: { readonly once?: unknown; readonly refused?: Form } = {},
): Promise<Reply> {
  const record = await view.ask<R>(operation(of, "get"), { params });
  if (record instanceof Refusal) return refusedPage(view, record, of.place);
  const { place, edit, lost, live, actions = [] } = of;
  const all = pathOf(of, view);
  const at = `${all}/${record.id}`;
  const name = await of.name(record, view);
  const change =
    edit && view.may(operation(of, "update")) && html`<a class="button quiet" href="${at}/edit">${edit}</a>`;
  return framed(view, {
    title: name,
    place,
    status: refused?.status ?? (once === undefined ? 200 : 201),
    body: html`<p class="soft"><a href="${of.within === undefined ? all : all.replace(/\/[^/]*$/, "")}">${place}</a>${live && html` <span data-live="${at}"></span>`}</p>
${typeof once === "string" && of.once && shownOnce(of.once[0], once, of.once[1])}
<div data-follow>${head(name, html`${await of.right(record, view)}${change}`)}
${await of.more?.(view, record)}<h2>Details</h2>${factsOf(view, operation(of, "get"), record)}</div>
${actions.map((each) => view.may(each.operation) && actionForm(view, at, each, refused))}
${lost && view.may(operation(of, "delete")) && danger(`Delete this ${of.one}`, `${at}/delete`, view.visit.csrfField, lost)}`,
  });
}

/** What the API shows of it, but for what holds members of its own. */
function factsOf(view: View, get: string, record: Named): Html {
  const isPlain = (value: unknown): boolean =>
    Array.isArray(value) ? value.every(isPlain) : typeof value !== "object" || value === null;
  const plain = Object.entries(view.shown(get, record).members).filter(([, value]) => isPlain(value));
  return facts(plain.map(([name, value]) => [name.replaceAll("_", " "), factOf(name, value)]));
}

function factOf(name: string, value: unknown): Shown {
  const text = value === null || value === "" ? "none" : [value].flat().join(", ");
  if (value !== null && (name.endsWith("_at") || name === "created")) return time(text);
  return /(id|url|uris)$/.test(name) ? html`<code>${text}</code>` : text;
}

function actionForm(view: View, at: string, { path, operation: named, button, fields }: Action, refused?: Form): Html {
  const schema = view.body(named);
  const form = refused ?? blankForm(schema, () => undefined);
  const drawn = html`<form method="post" action="${at}${path}">${view.visit.csrfField}${fields && controls(form, schema, fields)}<button class="quiet">${button}</button></form>`;
  return fields
    ? html`<details class="card form"${refused && html` open`}><summary>${button}</summary>${drawn}</details>`
    : drawn;
}

async function act<R extends Named>(of: Resource<R>, view: View, action: Action): Promise<Reply> {
  const { operation: named, fields = {}, done, makes } = action;
  const sent = bodyOf(view.fields, view.body(named), fields);
  const made = await view.ask(named, { body: sent });
  if (made instanceof Refusal)
    return onePage(of, view, view.params, { refused: refusedForm(sent, made, view.explain) });
  const at = `${pathOf(of, view)}/${view.params[of.param]}`;
  return redirect(`${makes === undefined ? at : `${at}${makes}/${view.shown(named, made).members.id}`}?done=${done}`);
}

async function remove<R extends Named>(of: Resource<R>, view: View): Promise<Reply> {
  const gone = await view.ask(operation(of, "delete"));
  return gone instanceof Refusal ? refusedPage(view, gone, of.place) : redirect(`${pathOf(of, view)}?done=deleted`);
}
