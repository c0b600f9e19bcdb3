// Users and their permissions, which are the scopes of the specification's part 5.
import { SCOPES, type Scope, type UserRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import { changeUser, createUser, getUser, listUsers, removeUser, userDraft } from "../../domain/users.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import { checkboxes, checked, type Form, formFault, formOf, input, refusedForm, ticked, ticks } from "../form.ts";
import { type Html, html } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, danger, head, list, nothingYet, pager, row, shownOnce, time } from "../parts.ts";
import { IN_WORDS } from "../scopes.ts";
import { framed, refusedPage } from "./frame.ts";
import { type DashboardRow, newest, type View, whatever } from "./view.ts";

const PATH = `${DASHBOARD}/users`;
const SECTION = { section: "Users" } as const;

async function usersPage(view: View): Promise<Reply> {
  const users = await newest(view, (span) => listUsers(view.unit.store, view.caller, span));
  if (users instanceof Refusal) return refusedPage(view, users, "Users");
  return framed(view, {
    title: "Users",
    ...SECTION,
    body: html`${head("Users", html`<a class="button" href="${PATH}/new">Add user</a>`)}
${users.items.length === 0 ? nothingYet("Nobody here", "There is nobody on this page of the list.") : list(users.items.map((user) => userRow(view, user)))}
${pager(users, PATH)}`,
  });
}

const userRow = (view: View, user: UserRecord): Html =>
  row(
    html`<a href="${PATH}/${user.id}">${user.name === "" ? user.email : user.name}</a>${user.id === view.user.id && html` <span class="soft">you</span>`}`,
    html`${user.name !== "" && html`${user.email} · `}since ${time(user.created_at)}`,
    user.permissions.length === 0
      ? badge("no permissions", "warn")
      : user.permissions.map((scope) => badge(scope, scope === "admin" ? "good" : "plain")),
  );

export const scopeOptions: readonly (readonly [Scope, string])[] = SCOPES.map((scope) => [scope, IN_WORDS[scope]]);

const userFields = (form: Form): Html => html`${formFault(form)}
${input(form, { name: "email", label: "E-mail address", type: "email", required: true })}
${input(form, { name: "name", label: "Name" })}
${checkboxes(form, "permissions", "Permissions", scopeOptions)}`;

const values = ({ fields }: View) => ({
  email: fields.get("email") ?? "",
  name: fields.get("name") ?? "",
  permissions: ticked(fields, "permissions", SCOPES),
});

const newPage = (view: View, form: Form, status = 200): Reply =>
  framed(view, {
    title: "Add user",
    ...SECTION,
    status,
    body: html`${head("Add user")}<form class="card form" method="post" action="${PATH}">${view.csrf}${userFields(form)}
<div class="row"><button>Add user</button><a class="button quiet" href="${PATH}">Cancel</a></div></form>`,
  });

async function create(view: View): Promise<Reply> {
  const draft = checked(userDraft, values(view));
  const made = draft instanceof Refusal ? draft : await createUser(view.unit, view.caller, draft);
  if (made instanceof Refusal)
    return newPage(view, refusedForm(view.fields, made, view.explain), view.explain(made).status);
  const { record, signInToken } = made;
  const advice =
    "It works once, for 15 minutes, and is not shown again. Later they can ask for one at the sign-in page.";
  return framed(view, {
    title: "The user is added",
    ...SECTION,
    status: 201,
    body: html`${head(`${record.email} is added`)}
${shownOnce("Their sign-in link", view.services.links.signIn(signInToken), html`Send it to them. ${advice}`)}
<p><a class="button" href="${PATH}">To the users</a></p>`,
  });
}

async function withUser(view: View, show: (user: UserRecord) => Reply | Promise<Reply>): Promise<Reply> {
  const user = await getUser(view.unit.store, view.caller, view.param("user_id"));
  return user instanceof Refusal ? refusedPage(view, user, "Users") : show(user);
}

const userPage = (view: View, user: UserRecord, form: Form, status = 200): Reply =>
  framed(view, {
    title: user.email,
    ...SECTION,
    status,
    body: html`<p class="crumb"><a href="${PATH}">Users</a></p>${head(user.name === "" ? user.email : user.name)}
<form class="card form" method="post" action="${PATH}/${user.id}">${view.csrf}${userFields(form)}<button>Save</button></form>
<p class="soft">Id <code>${user.id}</code> · since ${time(user.created_at)}</p>
<h2>Delete</h2>
${danger("Delete this user", `${PATH}/${user.id}/delete`, view.csrf, html`<strong>${user.email}</strong> is signed out, and every application that acts for them is refused. This cannot be undone.`, "Delete for good")}`,
  });

const show = (view: View): Promise<Reply> =>
  withUser(view, (user) => {
    const { email, name, permissions } = user;
    return userPage(view, user, formOf({ email, name, ...ticks("permissions", permissions) }));
  });

const save = (view: View): Promise<Reply> =>
  withUser(view, async (user) => {
    const changes = checked(userDraft, values(view));
    const saved =
      changes instanceof Refusal ? changes : await changeUser(view.unit, view.caller, user.id, changes, whatever);
    if (saved instanceof Refusal)
      return userPage(view, user, refusedForm(view.fields, saved, view.explain), view.explain(saved).status);
    return redirect(`${PATH}/${user.id}?done=saved`);
  });

async function remove(view: View): Promise<Reply> {
  const gone = await removeUser(view.unit, view.caller, view.param("user_id"), whatever);
  return gone instanceof Refusal ? refusedPage(view, gone, "Users") : redirect(`${PATH}?done=deleted`);
}

export const userRows: readonly DashboardRow[] = [
  { method: "GET", path: PATH, operation: "listUsers", run: usersPage },
  { method: "GET", path: `${PATH}/new`, operation: "createUser", run: async (view) => newPage(view, formOf()) },
  { method: "POST", path: PATH, operation: "createUser", run: create },
  { method: "GET", path: `${PATH}/{user_id}`, operation: "getUser", run: show },
  { method: "POST", path: `${PATH}/{user_id}`, operation: "updateUser", run: save },
  { method: "POST", path: `${PATH}/{user_id}/delete`, operation: "deleteUser", run: remove },
];
