// The pages of one kind of resource: the list, a page for each record, and a form for each action. Each page calls the
// operation of the REST API that has the same path.
import type { ListPage } from "../../domain/crud.ts";
import { AppError } from "../../domain/errors.ts";
import type { Entity } from "../../domain/store.ts";
import { isSafeMethod } from "../../http/message.ts";
import type { Operation } from "../../http/operation.ts";
import {
  type Form,
  type FormValues,
  formWithErrors,
  parseFields,
  renderFields,
  type Texts,
} from "../form.ts";
import {
  badge,
  code,
  definitionList,
  firstOfMany,
  Html,
  heading,
  html,
  inlineMarkdown,
  link,
  muted,
  paragraph,
  type Renderable,
  tabs,
  time,
  toLabel,
} from "../html.ts";
import { redirect } from "../layout.ts";
import type { SubmittedFields } from "../session.ts";
import {
  type DashboardRoute,
  dashboardPage,
  fillPath,
  getOperation,
  type PageContext,
  pageRoute,
} from "./dashboard.ts";

interface Definition<R> {
  readonly title: string;
  readonly intro?: string;
  /** What an empty list says, and the action that it offers; by default `new`. */
  readonly empty: string;
  readonly next?: Action | undefined;
  /** The path of a record's page. */
  readonly path: string;
  /** The path of a record in the API, with the same parameters; by default the end of `path`. */
  readonly apiPath?: string;
  /** Labels by the last segment of the form's path; `new` is an action on the list, the others are on a record. */
  readonly labels?: Texts;
  /** Pages to show after actions whose result is another resource; `{id}` is its id. */
  readonly nextPaths?: Texts;
  /** Shown at the fields of the forms and, by the name of an action, above its fields. */
  readonly hints?: Texts;
  /** Converts form values to the request body, if they differ. */
  toBody?(values: FormValues): FormValues | AppError;
  /** The query parameter by which the list can be filtered. */
  readonly filter?: string;
  /** The columns of a list. The first one is the name, which links to the record; the others are members. */
  readonly columns: readonly string[];
  /** Returns members for the list that the API does not have or shows otherwise; `name` is the text of the link, `missing` the text without one. */
  getCells?(record: R, page: PageContext): Promise<Readonly<Record<string, Renderable>>>;
  /** Content of the record's page above its details. */
  renderContent?(record: R, page: PageContext): Promise<Renderable>;
}

interface Action {
  readonly name: string;
  readonly label: string;
  readonly path: string;
  readonly operation: Operation;
}

export type ResourcePages<R extends Entity> = ReturnType<typeof createPages<R>>;

const PAGE_LENGTH = 20;

const parentPath = (path: string): string => path.slice(0, path.lastIndexOf("/"));

/** `R` is the record as the operations return it. */
export function createPages<R extends Entity>({
  title,
  intro = "",
  empty,
  path,
  apiPath = path.replace(/^\/dashboard(\/settings)?/, ""),
  labels = {},
  hints = {},
  filter = "",
  columns,
  ...definition
}: Definition<R>) {
  const ownListPath = parentPath(path);
  const isNested = ownListPath.includes("{");
  /** The page with the list: its own, or that of the record to which the resource belongs. */
  const listPath = isNested ? parentPath(ownListPath) : ownListPath;
  const recordPath = `${ownListPath}/{id}`;
  const apiListPath = parentPath(apiPath);
  const list = getOperation(`GET ${apiListPath}`);
  const read = getOperation(`GET ${apiPath}`);
  const standardKeys: Texts = {
    new: `POST ${apiListPath}`,
    edit: `PATCH ${apiPath}`,
    delete: `DELETE ${apiPath}`,
  };
  const actions = Object.entries(labels).map(
    ([name, label]): Action => ({
      name,
      label,
      path: `${name === "new" ? listPath : path}/${name}`,
      operation: getOperation(standardKeys[name] ?? `POST ${apiPath}/${name}`),
    }),
  );
  const nextPaths: Texts = {
    new: recordPath,
    delete: listPath,
    ...definition.nextPaths,
  };
  const { next = actions[0] } = definition;

  /** Returns a part of the list, newest first; the API lists in creation order. A list that the user may not read is empty. */
  async function readNewest(page: PageContext, length: number, skip = 0, query = {}) {
    const readRange = async (offset: number, limit: number) => {
      const options = { query: { ...query, offset, limit }, params: page.params };
      const range = await page.callApi<ListPage<R>>(list, options);
      return range instanceof AppError ? { items: [], total: 0 } : range;
    };
    const { total } = await readRange(0, 0);
    const start = skip < total ? skip : 0;
    const end = Math.min(start + length, total);
    const { items } = await readRange(total - end, end - start);
    return { items: items.toReversed(), total, start, end };
  }

  /** Renders a part of the list with its filter. */
  async function renderList(page: PageContext, length = PAGE_LENGTH): Promise<Renderable> {
    const values = list.query?.members[filter]?.json.enum ?? [];
    const value = values.find((each) => each === page.query.get(filter));
    const skip = Math.abs(Number.parseInt(page.query.get("skip") ?? "", 10));
    const { items, total, start, end } = await readNewest(page, length, skip, { [filter]: value });
    const url = fillPath(listPath, page.params);
    const filters = values.map((each) => [toLabel(each), `${url}?${filter}=${each}`]);
    const pageUrl = (skip: number) => `${url}?${value ? `${filter}=${value}&` : ""}skip=${skip}`;
    return [
      filter &&
        length === PAGE_LENGTH &&
        tabs("Filter", [["All", url], ...filters], toLabel(value ?? "all")),
      value && total === 0
        ? muted("None here. Choose another filter.")
        : await renderRecords(items, page),
      total > items.length &&
        html`<div class="row">${muted(`${start + 1} to ${end} of ${total}, newest first`)}
${start > 0 && link(pageUrl(Math.max(start - length, 0)), "Newer", "button")}
${end < total && link(pageUrl(end), "Older", "button")}</div>`,
    ];
  }

  /** Renders records as a table, whose rows are cards on a phone. */
  async function renderRecords(records: readonly R[], page: PageContext): Promise<Renderable> {
    if (records.length === 0) {
      const action =
        next &&
        page.can(next.operation) &&
        link(fillPath(next.path, page.params), next.label, "button");
      return html`<div class="card"><p>${empty}</p>${action}</div>`;
    }
    const rows: Html[] = [];
    for (const record of records) {
      const cells = await definition.getCells?.(record, page);
      const members: FormValues = { ...record, ...cells };
      const others = columns
        .slice(1)
        .map((name) => html`<td data-label="${toLabel(name)}">${renderValue(name, members[name])}`);
      rows.push(
        html`<tr class="card" id="${record.id}"><td>${cells?.missing ?? link(fillPath(recordPath, members), cells?.name ?? getName(record))}${others}\n`,
      );
    }
    const heads = columns.map((name) => html`<th scope="col">${toLabel(name)}`);
    return html`<table class="list"><thead><tr>${heads}
<tbody>${rows}</table>`;
  }

  /** Renders the first records that belong to the record of another page. */
  const renderRelated = async (
    { items, total }: Pick<ListPage<R>, "items" | "total">,
    page: PageContext,
    empty: string,
  ): Promise<Renderable> => [
    heading(title),
    total === 0 ? muted(empty) : await renderRecords(items, page),
    firstOfMany(items.length, total, "records"),
  ];

  /** Links to the forms that this user may send: that of the list or those of a record. The first one is the primary one. */
  const renderActions = (page: PageContext, isList: boolean): Renderable =>
    actions
      .filter(({ name, operation }) => (name === "new") === isList && page.can(operation))
      .map(({ name, operation, label, path }) => {
        const url = fillPath(path, page.params);
        // An action without fields and without a warning needs no form of its own.
        return operation.body || hints[name]
          ? link(url, label, operation.method === "POST" ? "button primary" : "button")
          : page.form(url, html`<button class="primary">${label}</button>`);
      });

  async function listPage(page: PageContext) {
    const { total } = await readNewest(page, 0);
    return dashboardPage(page, {
      title,
      // An empty list has this action in its place.
      actions: total > 0 && renderActions(page, true),
      body: [intro && muted(inlineMarkdown(intro)), await renderList(page)],
    });
  }

  async function recordPage(page: PageContext) {
    const record = await page.callApi<R>(read);
    if (record instanceof AppError) return record;
    // Nested objects are part of the content.
    const details = Object.entries(page.toJson(read, record))
      .filter(([, value]) => ![value].flat().some((each) => each instanceof Object))
      .map(([name, value]) => [toLabel(name), renderValue(name, value)]);
    return dashboardPage(page, {
      title: getName(record),
      back: fillPath(listPath, page.params),
      actions: renderActions(page, false),
      body: html`<div data-follow>${await definition.renderContent?.(record, page)}<h2>Details</h2>${definitionList(details)}</div>`,
    });
  }

  /** Shows the form of an action. A posted form calls the operation and continues at the page of its result. */
  async function formPage(
    { name, operation, label }: Action,
    page: PageContext,
    fields: SubmittedFields,
  ) {
    const record = name === "new" ? undefined : await page.callApi<R>(read);
    if (record instanceof AppError) return record;
    const isEdit = name === "edit";
    // PATCH requires no fields, but the form shows all of them.
    const { body } = isEdit ? getOperation(`POST ${apiListPath}`) : operation;
    const schema = body?.json ?? {};
    let form: Form = {
      values: isEdit ? page.toJson(read, record) : Object.fromEntries(page.query),
    };
    if (!isSafeMethod(page.request)) {
      const values = parseFields(fields, schema);
      const body = definition.toBody?.(values) ?? values;
      const result = body instanceof AppError ? body : await page.callApi(operation, { body });
      if (!(result instanceof AppError)) {
        const json = page.toJson(operation, result);
        const nextPath = fillPath(nextPaths[name] ?? path, { ...page.params, id: json.id });
        const { shownOnce = "" } = operation;
        const secret = json[shownOnce];
        // A public OAuth app has none.
        if (!secret) return redirect(`${nextPath}?done=${name}`);
        return dashboardPage(page, {
          title: label,
          status: 201,
          body: [
            heading(toLabel(shownOnce)),
            paragraph("Copy it now. It is not shown again."),
            code(String(secret), "secret"),
            paragraph(`ID: \`${json.id}\``),
            link(nextPath, "Continue", "button primary"),
          ],
        });
      }
      form = formWithErrors(values, result);
    }
    const cancel = link(parentPath(page.request.path), "Cancel", "button");
    return dashboardPage(page, {
      title: record ? `${label}: ${getName(record)}` : label,
      status: form.status,
      body: page.form(
        page.request.path,
        [
          hints[name] && paragraph(hints[name]),
          renderFields(form, schema, hints),
          html`<div class="row"><button class="primary">${isEdit ? "Save" : label}</button>${cancel}</div>`,
        ],
        "card",
      ),
    });
  }

  const routes: DashboardRoute[] = [pageRoute(path, read, recordPage)];
  if (!isNested) routes.push(pageRoute(listPath, list, listPage));
  for (const action of actions) {
    const form = pageRoute(action.path, action.operation, (page, fields) =>
      formPage(action, page, fields),
    );
    routes.push(form, { ...form, method: "POST" });
  }
  return { title, list, listPath, actions, routes, readNewest, renderList, renderRelated };
}

function getName(record: Entity): string {
  const members: FormValues = { ...record };
  const { title, name, email, url, event_type, type } = members;
  return event_type ? `Delivery of ${event_type}` : String(title || name || email || url || type);
}

/** The pages of resources that others refer to. */
const PAGES: Texts = {
  app_id: "/dashboard/apps/",
  webhook_id: "/dashboard/settings/webhooks/",
};

function renderValue(name: string, value: unknown): Renderable {
  if (value instanceof Html) return value;
  if (typeof value === "boolean") return value ? "Yes" : "No";
  const text = [value ?? ""].flat().join(", ");
  if (text === "") return name === "last_used_at" ? "Never" : "None";
  if (name === "status") return badge(text);
  if (/_at$|^created$/.test(name)) return time(text);
  const page = PAGES[name];
  return page ? link(page + text, text) : text;
}
