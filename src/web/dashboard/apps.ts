// Apps: the list, and making, changing and deleting one. What an app is made of is shown by its own page, app.ts.
import { appDraft, changeApp, createApp, getApp, listApps, removeApp } from "../../domain/apps.ts";
import type { AppRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import { checkbox, checked, type Form, formFault, formOf, input, lines, refusedForm, textarea } from "../form.ts";
import { type Html, html } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, head, list, nothingYet, pager, row, time } from "../parts.ts";
import { framed, refusedPage } from "./frame.ts";
import { type DashboardRow, newest, type View, whatever } from "./view.ts";

export const APPS_PATH = `${DASHBOARD}/apps`;
export const appPath = (id: string): string => `${APPS_PATH}/${id}`;

async function appsPage(view: View): Promise<Reply> {
  const apps = await newest(view, (span) => listApps(view.unit.store, view.caller, undefined, span));
  if (apps instanceof Refusal) return refusedPage(view, apps, "Apps");
  const add = view.may("createApp") && html`<a class="button" href="${APPS_PATH}/new">New app</a>`;
  return framed(view, {
    title: "Apps",
    section: "Apps",
    body: html`${head("Apps", apps.total > 0 && add)}
${apps.total === 0 ? nothingYet("No apps yet", html`An app shows the data that you give it, at an address of its own. ${add ? "Make the first one, then deploy it." : "Making one takes the permission write:apps."}`, add) : list(apps.items.map(appRow))}
${pager(apps, APPS_PATH)}`,
  });
}

const EXCERPT_MAX = 120;
const excerpt = (text: string): string => {
  const line = text.trim().split("\n")[0] ?? "";
  return line.length > EXCERPT_MAX ? `${line.slice(0, EXCERPT_MAX).toWellFormed()}…` : line;
};

const appRow = (app: AppRecord): Html =>
  row(
    html`<a href="${appPath(app.id)}">${app.title}</a>`,
    html`${app.description.trim() !== "" && html`${excerpt(app.description)} · `}changed ${time(app.updated_at)}`,
    visibility(app),
  );

export const visibility = (app: AppRecord): Html => (app.public ? badge("public", "good") : badge("private"));

const appFields = (form: Form): Html => html`${formFault(form)}
${input(form, { name: "title", label: "Title", required: true })}
${textarea(form, { name: "description", label: "Description", rows: 3, hint: "Shown above the charts." })}
${input(form, { name: "theme", label: "Theme", hint: html`<code>light</code> and <code>dark</code> are drawn so. Any other name is kept, and its pages follow the reader’s system.`, required: true })}
${checkbox(form, "public", "Public: anybody with the address sees the app. Otherwise only signed-in users of this account do.")}`;

const values = (view: View) => ({
  title: view.fields.get("title") ?? "",
  description: lines(view.fields.get("description")),
  theme: view.fields.get("theme") ?? "",
  public: view.fields.has("public"),
});

const formPage = (view: View, title: string, action: string, back: string, form: Form, button: string, status = 200) =>
  framed(view, {
    title,
    section: "Apps",
    status,
    body: html`${head(title)}<form class="card form" method="post" action="${action}">${view.csrf}${appFields(form)}
<div class="row"><button>${button}</button><a class="button quiet" href="${back}">Cancel</a></div></form>`,
  });

const newPage = (view: View, form: Form, status?: number): Reply =>
  formPage(view, "New app", APPS_PATH, APPS_PATH, form, "Create app", status);

async function create(view: View): Promise<Reply> {
  const draft = checked(appDraft, values(view));
  const app = draft instanceof Refusal ? draft : await createApp(view.unit, view.caller, draft);
  if (app instanceof Refusal)
    return newPage(view, refusedForm(view.fields, app, view.explain), view.explain(app).status);
  return redirect(`${appPath(app.id)}?done=created`);
}

/** The app of the path, handed to `show`; or why there is none. */
export async function withApp(view: View, show: (app: AppRecord) => Reply | Promise<Reply>): Promise<Reply> {
  const app = await getApp(view.unit.store, view.caller, view.param("app_id"));
  return app instanceof Refusal ? refusedPage(view, app, "Apps") : show(app);
}

const editPage = (view: View, app: AppRecord, form: Form, status?: number): Reply =>
  formPage(view, `Edit ${app.title}`, `${appPath(app.id)}/edit`, appPath(app.id), form, "Save", status);

const edit = (view: View): Promise<Reply> =>
  withApp(view, (app) => {
    const { title, description, theme } = app;
    return editPage(view, app, formOf({ title, description, theme, ...(app.public && { public: "on" }) }));
  });

const save = (view: View): Promise<Reply> =>
  withApp(view, async (app) => {
    const changes = checked(appDraft, values(view));
    const saved =
      changes instanceof Refusal ? changes : await changeApp(view.unit, view.caller, app.id, changes, whatever);
    if (saved instanceof Refusal)
      return editPage(view, app, refusedForm(view.fields, saved, view.explain), view.explain(saved).status);
    return redirect(`${appPath(app.id)}?done=saved`);
  });

async function remove(view: View): Promise<Reply> {
  const gone = await removeApp(view.unit, view.caller, view.param("app_id"), whatever);
  return gone instanceof Refusal ? refusedPage(view, gone, "Apps") : redirect(`${APPS_PATH}?done=deleted`);
}

const FIRST: Form = formOf({ theme: "light" });

export const appRows: readonly DashboardRow[] = [
  { method: "GET", path: APPS_PATH, operation: "listApps", run: appsPage },
  { method: "GET", path: `${APPS_PATH}/new`, operation: "createApp", run: async (view) => newPage(view, FIRST) },
  { method: "POST", path: APPS_PATH, operation: "createApp", run: create },
  { method: "GET", path: `${APPS_PATH}/{app_id}/edit`, operation: "updateApp", run: edit },
  { method: "POST", path: `${APPS_PATH}/{app_id}/edit`, operation: "updateApp", run: save },
  { method: "POST", path: `${APPS_PATH}/{app_id}/delete`, operation: "deleteApp", run: remove },
];
