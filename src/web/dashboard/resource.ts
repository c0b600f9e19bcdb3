// One kind of thing in the dashboard, said once: what its operations are called, how one of them reads, and the words for
// it. Its pages - list, form, one of them, and what can be done to one - are drawn from that and from the schemas of the
// operations, which they call.
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { blankForm, bodyOf, controls, type Fields, formOf, membersOf, refusedForm, valuesOf } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { danger, facts, head, list, nothingYet, pager, row, shownOnce, tabs, time } from "../parts.ts";
import { framed, PATHS, type Place, refusedPage } from "./frame.ts";
import { type DashboardRow, newest, type View } from "./view.ts";

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
  readonly fields?: Fields | ((view: View) => Promise<Fields>);
  /** Makes the body of what the form holds, where that is not the same. */
  readonly draft?: (sent: Record<string, unknown>) => Record<string, unknown> | Refusal;
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
  readonly headers?: (record: R) => Reply["headers"];
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
export const pathOf = (of: Pick<Resource<never>, "place" | "within">, { params }: View): string =>
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
    ...on("GET", one, operation(of, "get"), (view) => onePage(of, view)),
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

/** The list itself; `path` is the address of the page that holds it. */
export async function listing<R extends Named>(of: Resource<R>, view: View, path = pathOf(of, view)): Promise<Html> {
  const { filter = "", empty } = of;
  const values = valuesOf(membersOf(view.row(operation(of, "list")).query.json)[filter]);
  const chosen = values.find((each) => each === view.query(filter));
  const to = (value: string) => `${path}?${filter}=${value}`;
  const links = [["all", path] as const, ...values.map((each) => [each, to(each)] as const)];
  const found = await newest<R>(view, operation(of, "list"), chosen === undefined ? {} : { [filter]: chosen });
  if (found instanceof Refusal) return html`<p>${view.explain(found).detail}</p>`;
  return html`${values.length > 0 && html`<nav class="tabs small" aria-label="${filter}">${tabs(links, chosen ?? "all")}</nav>`}
${found.total > 0 ? await rowsOf(of, view, found.items) : nothingYet(chosen === undefined ? empty[0] : `Nothing is ${chosen}`, empty[1])}
${pager(found, chosen === undefined ? path : to(chosen))}`;
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

const fieldsFor = async ({ fields = {} }: Pick<Resource<never>, "fields">, view: View): Promise<Fields> =>
  typeof fields === "function" ? fields(view) : fields;

/** The form that makes one, or changes the one of the path; `refused` says why it was sent in vain. */
async function formPage<R extends Named>(of: Resource<R>, view: View, refused?: Refusal): Promise<Reply> {
  const { place, param, make = "", edit } = of;
  const record = param in view.params ? await view.ask<R>(operation(of, "get")) : undefined;
  if (record instanceof Refusal) return refusedPage(view, record, place);
  const back = record ? `${pathOf(of, view)}/${record.id}` : pathOf(of, view);
  const fields = await fieldsFor(of, view);
  const schema = view.body(operation(of, "create"));
  const blank = record ? formOf(view.shown(operation(of, "get"), record).members) : blankForm(schema, view.query);
  const form = refused ? refusedForm(view.fields, refused, view.explain(refused).detail) : blank;
  const title = record ? `${edit} ${await of.name(record, view)}` : make;
  const type = Object.values(fields).some(({ accept }) => accept) && html` enctype="multipart/form-data"`;
  return framed(view, {
    title,
    place,
    status: refused && view.explain(refused).status,
    body: html`${head(title)}<form class="card form" method="post" action="${record ? `${back}/edit` : back}"${type}>${view.visit.csrfField}${!record && html`<input type="hidden" name="once" value="${view.visit.call.id}">`}
${controls(form, schema, fields)}
<div class="row"><button>${record ? "Save" : make}</button><a class="button quiet" href="${back}">Cancel</a></div></form>`,
  });
}

async function send<R extends Named>(of: Resource<R>, view: View, verb: "create" | "update"): Promise<Reply> {
  const sent = bodyOf(view.fields, view.body(operation(of, "create")), await fieldsFor(of, view));
  const body = of.draft ? of.draft(sent) : sent;
  const kept = body instanceof Refusal ? body : await view.ask(operation(of, verb), { body });
  if (kept instanceof Refusal) return formPage(of, view, kept);
  const { id, once } = view.shown(operation(of, verb), kept);
  if (verb === "create" && of.once) return onePage(of, view.at({ ...view.params, [of.param]: id }), undefined, once);
  return redirect(`${pathOf(of, view)}/${id}?done=${verb}d`);
}

/** `once` is what is shown this once, `refused` why what was done here last was not done. */
async function onePage<R extends Named>(
  of: Resource<R>,
  view: View,
  refused?: Refusal,
  once?: unknown,
): Promise<Reply> {
  const record = await view.ask<R>(operation(of, "get"));
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
    status: refused ? view.explain(refused).status : once === undefined ? 200 : 201,
    headers: of.headers?.(record),
    body: html`<p class="crumb"><a href="${of.within === undefined ? all : all.replace(/\/[^/]*$/, "")}">${place}</a>${live && html` <span class="soft" data-live="${at}"></span>`}</p>
${typeof once === "string" && of.once && shownOnce(of.once[0], once, of.once[1])}
<div data-follow>${head(name, html`${await of.right(record, view)}${change}`)}
${await of.more?.(view, record)}<h2>Details</h2>${factsOf(view, operation(of, "get"), record)}</div>
${actions.map((each) => view.may(each.operation) && actionForm(view, at, each, refused))}
${lost && view.may(operation(of, "delete")) && danger(`Delete this ${of.one}`, `${at}/delete`, view.visit.csrfField, lost)}`,
  });
}

/** What the API shows of it, but for what holds members of its own. */
function factsOf(view: View, get: string, record: Named): Html {
  const all = Object.entries(view.shown(get, record).members);
  return facts(
    all.flatMap(([name, value]) => (isPlain(value) ? [[name.replaceAll("_", " "), factOf(name, value)]] : [])),
  );
}

const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isPlain) : typeof value !== "object" || value === null;

function factOf(name: string, value: unknown): Shown {
  const text = value === null || value === "" ? "none" : Array.isArray(value) ? value.join(", ") : String(value);
  if (name.endsWith("_at") || name === "created") return value === null ? text : time(text);
  return /(id|url|uris)$/.test(name) ? html`<code>${text}</code>` : text;
}

function actionForm(
  view: View,
  at: string,
  { path, operation: named, button, fields }: Action,
  refused?: Refusal,
): Html {
  const schema = view.body(named);
  const form = refused ? refusedForm(view.fields, refused, view.explain(refused).detail) : blankForm(schema);
  const drawn = html`<form class="form" method="post" action="${at}${path}">${view.visit.csrfField}${fields && controls(form, schema, fields)}<button class="quiet">${button}</button></form>`;
  return fields
    ? html`<details class="card"${refused && html` open`}><summary>${button}</summary>${drawn}</details>`
    : drawn;
}

async function act<R extends Named>(of: Resource<R>, view: View, action: Action): Promise<Reply> {
  const { operation: named, fields = {}, done, makes } = action;
  const made = await view.ask(named, { body: bodyOf(view.fields, view.body(named), fields) });
  if (made instanceof Refusal) return onePage(of, view, made);
  const at = `${pathOf(of, view)}/${view.params[of.param]}`;
  return redirect(`${makes === undefined ? at : `${at}${makes}/${view.shown(named, made).id}`}?done=${done}`);
}

async function remove<R extends Named>(of: Resource<R>, view: View): Promise<Reply> {
  const gone = await view.ask(operation(of, "delete"));
  return gone instanceof Refusal ? refusedPage(view, gone, of.place) : redirect(`${pathOf(of, view)}?done=deleted`);
}
