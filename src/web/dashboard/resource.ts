// One kind of thing in the dashboard, said once: its operations, how one of them reads, and the words for it. The pages of
// it - list, form, what was made, one of them, changing, removing, and what else can be done to one - are drawn from that
// and from the schemas of its operations.
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import type { JsonSchema } from "../../kit/schema.ts";
import { blankForm, bodyOf, controls, type Fields, type Form, formOf, refusedForm } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { danger, facts, head, list, nothingYet, pager, row, shownOnce, tabs } from "../parts.ts";
import { membersOf, valuesOf } from "../schemas.ts";
import { framed, type Place, refusedPage } from "./frame.ts";
import { type DashboardRow, newest, type View } from "./view.ts";

type Later<T> = T | Promise<T>;

interface Named {
  readonly id: string;
}

/** What is shown this once when one is made. */
interface Once {
  readonly title: string;
  readonly advice: Shown;
  /** Said where there is nothing to show. */
  readonly none?: string;
  /** The way on. */
  readonly on: string;
}

interface Creation {
  readonly operation: string;
  readonly link: string;
  readonly button: string;
  readonly done?: string;
  /** The form stands above the list. */
  readonly inline?: true;
  /** Makes the body of what the form holds, where that is not the same. */
  readonly draft?: (sent: Record<string, unknown>) => Record<string, unknown> | Refusal;
  readonly once?: Once;
}

interface Removal<R> {
  readonly operation: string;
  readonly title: string;
  readonly button: string;
  readonly done?: string;
  /** What follows from it. */
  readonly follows: (record: R) => Shown;
}

/** What else can be done to one of them: a form that posts below its path. */
export interface Action {
  readonly path: string;
  readonly operation: string;
  readonly fields?: Fields;
  readonly done: string;
}

export interface Resource<R extends Named> {
  readonly path: string;
  /** The path's parameter, as the API calls it. */
  readonly param: string;
  readonly place: Place;
  readonly title: string;
  readonly list: string;
  readonly get: string;
  readonly create?: Creation;
  readonly update?: string;
  readonly remove?: Removal<R>;
  readonly actions?: readonly Action[];
  readonly fields?: Fields | ((view: View) => Promise<Fields>);
  /** The parameter of the list from whose values people choose. */
  readonly filter?: string;
  readonly lead?: Shown;
  readonly empty: readonly [title: string, advice: Shown];
  readonly name: (record: R, view: View) => Later<string>;
  /** In a list, below the name and at its right; the latter beside the name on its own page, too. */
  readonly below: (record: R, view: View) => Later<Shown>;
  readonly right: (record: R, view: View) => Later<Shown>;
  readonly facts: (record: R, view: View) => Parameters<typeof facts>[0];
  readonly headers?: (record: R) => Reply["headers"];
  /** What its own page says beside the facts; `refused` is the form that was sent to it in vain. */
  readonly more?: (view: View, record: R, refused: Form | undefined) => Later<Shown>;
}

/** All addresses of it; what is spelt out stands before what is a parameter. */
export function pagesOf<R extends Named>(of: Resource<R>): readonly DashboardRow[] {
  const { path, list: operation, get, create, update, remove, actions = [] } = of;
  const one = `${path}/{${of.param}}`;
  const on = (method: "GET" | "POST", at: string, named: string, run: DashboardRow["run"]): DashboardRow => ({
    method,
    path: at,
    operation: named,
    run,
  });
  return [
    on("GET", path, operation, (view) => listPage(of, view)),
    ...(create && !create.inline ? [on("GET", `${path}/new`, create.operation, (view) => newPage(of, view))] : []),
    ...(create ? [on("POST", path, create.operation, (view) => make(of, view, create))] : []),
    on("GET", one, get, (view) => onePage(of, view)),
    ...(update === undefined
      ? []
      : [
          on("GET", `${one}/edit`, update, (view) => editPage(of, view)),
          on("POST", `${one}/edit`, update, (view) => change(of, view, update)),
        ]),
    ...(remove ? [on("POST", `${one}/delete`, remove.operation, (view) => takeAway(of, view, remove))] : []),
    ...actions.map((action) => on("POST", one + action.path, action.operation, (view) => act(of, view, action))),
  ];
}

/** A form that was sent in vain, and the status that says so. */
export interface Refused {
  readonly form: Form;
  readonly status: number;
}

function refusedBy(view: View, refusal: Refusal): Refused {
  const { status, detail } = view.explain(refusal);
  return { form: refusedForm(view.fields, refusal, detail), status };
}

async function listPage<R extends Named>(of: Resource<R>, view: View, refused?: Refused): Promise<Reply> {
  const { create, title, place, path, list: operation } = of;
  const filter = filterOf(view, of.filter, operation, path);
  const found = await newest<R>(view, operation, filter.query);
  if (found instanceof Refusal) return refusedPage(view, found, place);
  const may = create !== undefined && view.may(create.operation);
  const add = may && !create.inline && html`<a class="button" href="${path}/new">${create.link}</a>`;
  return framed(view, {
    title,
    place,
    status: refused?.status,
    body: html`${head(title, found.total > 0 && add)}${of.lead && html`<p class="lead">${of.lead}</p>`}
${may && create.inline && (await createForm(of, view, refused))}${filter.tabs}
${found.total === 0 ? nothingYet(filter.chosen === undefined ? of.empty[0] : `No ${filter.chosen} yet`, html`${of.empty[1]}${create && !may && ` ${lacking(view, create)}`}`, add) : await rowsOf(of, view, found.items)}
${pager(found, filter.address)}`,
  });
}

const lacking = (view: View, { link, operation }: { readonly link: string; readonly operation: string }): string =>
  `${link}: this takes the permission ${view.operations.row(operation).scope}.`;

export const rowsOf = async <R extends Named>(of: Resource<R>, view: View, items: readonly R[]): Promise<Html> =>
  list(await Promise.all(items.map((record) => rowOf(of, view, record))));

const rowOf = async <R extends Named>(of: Resource<R>, view: View, record: R): Promise<Html> =>
  row({
    title: html`<a href="${of.path}/${record.id}">${await of.name(record, view)}</a>`,
    below: await of.below(record, view),
    right: await of.right(record, view),
  });

/** The values that the query of a list allows, as links, and the one that is chosen. */
export function filterOf(view: View, filter: string | undefined, operation: string, path: string) {
  const values = filter === undefined ? [] : valuesOf(membersOf(view.operations.row(operation).query.json)[filter]);
  const chosen = filter === undefined ? undefined : values.find((each) => each === view.query(filter));
  const links = Object.fromEntries([["all", path], ...values.map((each) => [each, `${path}?${filter}=${each}`])]);
  return {
    chosen,
    query: { ...(filter !== undefined && chosen !== undefined && { [filter]: chosen }) },
    address: links[chosen ?? "all"] ?? path,
    tabs:
      values.length > 0 && html`<nav class="tabs small" aria-label="${filter}">${tabs(links, chosen ?? "all")}</nav>`,
  };
}

const fieldsFor = async <R extends Named>({ fields = {} }: Resource<R>, view: View): Promise<Fields> =>
  typeof fields === "function" ? fields(view) : fields;

/** Pressed twice, it makes one thing: what was answered to `once` before is answered again. */
async function createForm<R extends Named>(of: Resource<R>, view: View, refused?: Refused): Promise<Shown> {
  const { path, create } = of;
  if (create === undefined) return null;
  const fields = await fieldsFor(of, view);
  const schema = view.operations.body(create.operation);
  const form = refused?.form ?? blankForm(schema, view.query);
  const files = Object.values(fields).some(({ accept }) => accept);
  return html`<form class="card ${create.inline ? "inline" : "form"}" method="post" action="${path}"${files && html` enctype="multipart/form-data"`}>${view.visit.csrfField}<input type="hidden" name="once" value="${view.visit.call.id}">
${controls(form, schema, fields)}
${create.inline ? html`<button>${create.button}</button>` : buttons(create.button, path)}</form>`;
}

const buttons = (button: string, back: string): Html =>
  html`<div class="row"><button>${button}</button><a class="button quiet" href="${back}">Cancel</a></div>`;

async function newPage<R extends Named>(of: Resource<R>, view: View, refused?: Refused): Promise<Reply> {
  const title = of.create?.link ?? of.title;
  const body = html`${head(title)}${await createForm(of, view, refused)}`;
  return framed(view, { title, place: of.place, status: refused?.status, body });
}

async function make<R extends Named>(of: Resource<R>, view: View, create: Creation): Promise<Reply> {
  const { operation, draft, once, done = "created", inline } = create;
  const sent = bodyOf(view.fields, view.operations.body(operation), await fieldsFor(of, view));
  const body = draft ? draft(sent) : sent;
  const made = body instanceof Refusal ? body : await view.ask(operation, { body });
  if (made instanceof Refusal) return (inline ? listPage : newPage)(of, view, refusedBy(view, made));
  const shown = view.operations.shown(operation, made, view.visit.call);
  return once ? madePage(of, view, once, shown) : redirect(`${of.path}/${shown.id}?done=${done}`);
}

async function madePage<R extends Named>(
  of: Resource<R>,
  view: View,
  { title, advice, none, on }: Once,
  made: { readonly id: string; readonly once: unknown },
): Promise<Reply> {
  const record = await view.ask<R>(of.get, { params: { [of.param]: made.id } });
  if (record instanceof Refusal) return refusedPage(view, record, of.place);
  const name = await of.name(record, view);
  return framed(view, {
    title: `${name} is ready`,
    place: of.place,
    status: 201,
    body: html`${head(`${name} is ready`)}
${typeof made.once === "string" ? shownOnce(title, made.once, advice) : html`<p>${none}</p>`}
${facts(of.facts(record, view))}
<p><a class="button" href="${of.path}/${made.id}">${on}</a></p>`,
  });
}

async function onePage<R extends Named>(of: Resource<R>, view: View, refused?: Refused): Promise<Reply> {
  const record = await view.ask<R>(of.get);
  if (record instanceof Refusal) return refusedPage(view, record, of.place);
  const { path, title, place, update, remove } = of;
  const at = `${path}/${record.id}`;
  const name = await of.name(record, view);
  const edit = update !== undefined && view.may(update) && html`<a class="button quiet" href="${at}/edit">Edit</a>`;
  return framed(view, {
    title: name,
    place,
    status: refused?.status,
    headers: of.headers?.(record),
    body: html`<p class="crumb"><a href="${path}">${title}</a></p>
${head(name, html`${await of.right(record, view)}${edit}`)}
${facts(of.facts(record, view))}
${await of.more?.(view, record, refused?.form)}
${remove && view.may(remove.operation) && danger(remove.title, `${at}/delete`, view.visit.csrfField, remove.follows(record), remove.button)}`,
  });
}

async function editPage<R extends Named>(of: Resource<R>, view: View, refused?: Refused): Promise<Reply> {
  const record = await view.ask<R>(of.get);
  if (record instanceof Refusal) return refusedPage(view, record, of.place);
  const at = `${of.path}/${record.id}`;
  const title = `Edit ${await of.name(record, view)}`;
  const form = refused?.form ?? formOf(view.operations.shown(of.get, record, view.visit.call).members);
  return framed(view, {
    title,
    place: of.place,
    status: refused?.status,
    body: html`${head(title)}<form class="card form" method="post" action="${at}/edit">${view.visit.csrfField}
${controls(form, draftOf(of, view), await fieldsFor(of, view))}
${buttons("Save", at)}</form>`,
  });
}

/** What making one takes, which a change takes member by member. */
const draftOf = <R extends Named>({ create }: Resource<R>, view: View): JsonSchema =>
  create ? view.operations.body(create.operation) : {};

async function change<R extends Named>(of: Resource<R>, view: View, operation: string): Promise<Reply> {
  const body = bodyOf(view.fields, draftOf(of, view), await fieldsFor(of, view));
  const saved = await view.ask<R>(operation, { body });
  if (saved instanceof Refusal) return editPage(of, view, refusedBy(view, saved));
  return redirect(`${of.path}/${saved.id}?done=saved`);
}

async function takeAway<R extends Named>(
  of: Resource<R>,
  view: View,
  { operation, done = "deleted" }: Removal<R>,
): Promise<Reply> {
  const gone = await view.ask(operation);
  return gone instanceof Refusal ? refusedPage(view, gone, of.place) : redirect(`${of.path}?done=${done}`);
}

/** Leads back to where what was done is said: at the thing that it was done to. */
async function act<R extends Named>(
  of: Resource<R>,
  view: View,
  { operation, fields = {}, done }: Action,
): Promise<Reply> {
  const body = bodyOf(view.fields, view.operations.body(operation), fields);
  const made = await view.ask(operation, { body });
  if (made instanceof Refusal)
    return "errors" in made.reason || made.reason.code === "domain_taken"
      ? onePage(of, view, refusedBy(view, made))
      : refusedPage(view, made, of.place);
  const { id } = view.operations.shown(operation, made, view.visit.call);
  return redirect(`${of.path}/${view.params[of.param]}?done=${done}&at=${id}#${id}`);
}
