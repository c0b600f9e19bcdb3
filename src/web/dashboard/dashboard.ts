// The way to the account dashboard (contract, part 1; the specification names it in parts 5 and 6): the same steps as for the
// REST API in the order that suits a browser: signed in, the account's standing, the permission, the form.
import { allows, type Caller, standing } from "../../domain/access.ts";
import type { Scope } from "../../domain/model.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { Unit, type UnitParts } from "../../domain/work.ts";
import type { Call, Reply } from "../../http/call.ts";
import type { Operation, Services } from "../../http/route.ts";
import type { Request, Way } from "../../http/way.ts";
import { fieldsOf } from "../../kit/form.ts";
import { DASHBOARD } from "../addresses.ts";
import { html } from "../html.ts";
import { messagePage } from "../page.ts";
import { allowed, refusedAs } from "../routes.ts";
import { signInFirst, whoIsIn } from "../sign-in.ts";
import type { Visit, Visits } from "../visit.ts";
import { framed, refusedPage } from "./frame.ts";
import type { DashboardRow, Explained, View } from "./view.ts";

export interface DashboardParts {
  readonly visits: Visits;
  readonly unit: UnitParts;
  readonly services: Services;
  /** The route table: what each operation takes. */
  readonly operations: readonly Operation[];
  readonly explain: (refusal: Refusal) => Explained;
}

/** What a form carries beside the data that an operation takes. */
const FRAME_BYTES = 65_536;

export class Dashboard implements Way<DashboardRow, Visit> {
  readonly under = DASHBOARD;
  readonly rows: readonly DashboardRow[];
  readonly #parts: DashboardParts;

  constructor(rows: readonly DashboardRow[], parts: DashboardParts) {
    this.#parts = parts;
    this.rows = rows.map((row) => ({ ...row, path: row.path.slice(DASHBOARD.length) }));
  }

  enter(call: Call): Promise<Visit> {
    return this.#parts.visits.of(call);
  }

  admit({ signedIn }: Visit, call: Call): Reply | undefined {
    return signedIn ? undefined : signInFirst(call.method === "GET" ? addressOf(call) : DASHBOARD);
  }

  /** The account's standing, the user's permission, the form. */
  async perform(row: DashboardRow, { call, who, params }: Request<Visit>): Promise<Reply> {
    const view = this.#view(who, params);
    const unfit = standing(view.account, call.method);
    if (unfit?.reason.code === "account_suspended") return suspendedPage(view);
    if (unfit) return refusedPage(view, unfit);
    const { scope, bodyLimit } = row.operation === null ? ANYBODY : this.#operation(row.operation);
    if (scope !== null && !allows(view.caller.scopes, scope)) return forbiddenPage(view, scope);
    if (row.method === "GET") return row.run(view);
    const posted = await this.#parts.visits.form(who, bodyLimit + FRAME_BYTES);
    return "refused" in posted ? posted.refused : row.run({ ...view, fields: posted.fields });
  }

  refused(refusal: Refusal, _call: Call, visit?: Visit): Reply {
    if (visit?.signedIn === undefined) return refusedAs(this.#parts.explain)(refusal);
    const page = refusedPage(this.#view(visit, {}), refusal);
    return { ...page, headers: { ...page.headers, ...allowed(refusal) } };
  }

  #view(visit: Visit, params: Readonly<Record<string, string>>): View {
    const { unit, services, explain } = this.#parts;
    if (visit.signedIn === undefined) throw new Error("Nobody is signed in");
    const { user, account } = visit.signedIn;
    const { values } = fieldsOf(visit.call.query);
    const caller: Caller = { account, scopes: new Set(user.permissions), credential: user.id };
    return {
      visit,
      user,
      account,
      caller,
      unit: new Unit(unit, visit.call.id),
      services,
      csrf: visit.csrfField,
      fields: new Map(),
      param: (name) => params[name] ?? "",
      query: (name) => values.get(name),
      may: (operation) => {
        const { scope } = this.#operation(operation);
        return scope === null || allows(caller.scopes, scope);
      },
      explain,
    };
  }

  #operation(name: string): Operation {
    const row = this.#parts.operations.find((each) => each.operation === name);
    if (row === undefined) throw new Error(`The route table has no operation ${name}`);
    return row;
  }
}

const ANYBODY = { scope: null, bodyLimit: 0 };

const addressOf = ({ path, query }: Call): string => (query === "" ? path : `${path}?${query}`);

const suspendedPage = ({ visit, account }: View): Reply =>
  messagePage(
    403,
    "This account is suspended",
    html`Nothing in <strong>${account.name}</strong> can be read or changed, here or through the API, until whoever runs this server lifts it.${whoIsIn(visit)}`,
    visit.setCookie,
  );

const forbiddenPage = (view: View, scope: Scope): Reply =>
  framed(view, {
    title: "Not yours to see",
    status: 403,
    body: html`<h1>Not yours to see</h1>
<p>This part of the dashboard takes the permission <code>${scope}</code>, which <strong>${view.user.email}</strong> does not have.</p>
<p>Somebody in ${view.account.name} with the permission <code>admin</code> can give it to you, under Users.</p>`,
  });
