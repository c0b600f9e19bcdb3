// The account dashboard (contract, part 1; the specification names it in parts 5 and 6): finds the page and goes through the
// same steps as the REST API in the order that suits a browser: signed in, the account's standing, the permission, the form.
import { allows, type Caller, standing } from "../../domain/access.ts";
import type { Scope } from "../../domain/model.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import type { SignedIn } from "../../domain/users.ts";
import { Unit, type UnitParts } from "../../domain/work.ts";
import type { Call, Reply } from "../../http/call.ts";
import type { Row, Services } from "../../http/route.ts";
import { fieldsOf } from "../../kit/form.ts";
import { DASHBOARD } from "../addresses.ts";
import { html } from "../html.ts";
import { messagePage } from "../page.ts";
import { signInFirst, whoIsIn } from "../sign-in.ts";
import type { Visit, Visits } from "../visit.ts";
import { framed, refusedPage } from "./frame.ts";
import type { DashboardRow, Explained, View } from "./view.ts";

export interface DashboardParts {
  readonly visits: Visits;
  readonly unit: UnitParts;
  readonly services: Services;
  /** The route table: what each operation takes. */
  readonly operations: readonly Row[];
  readonly explain: (refusal: Refusal) => Explained;
}

/** A row with what its operation takes. */
interface Compiled extends DashboardRow {
  readonly pattern: RegExp;
  readonly scope: Scope | null;
  readonly bodyBytes: number;
}

/** What a form carries beside the data that an operation takes. */
const FRAME_BYTES = 65_536;

export class Dashboard {
  readonly #parts: DashboardParts;
  readonly #rows: readonly Compiled[];

  constructor(rows: readonly DashboardRow[], parts: DashboardParts) {
    this.#parts = parts;
    this.#rows = rows.map((row) => {
      const operation = row.operation === null ? undefined : this.#operation(row.operation);
      const limits = { scope: operation?.scope ?? null, bodyBytes: operation?.bodyLimit ?? 0 };
      return { ...row, pattern: patternOf(row.path), ...limits };
    });
  }

  /** Answers what lies under /dashboard, and undefined to any other path. */
  door = (call: Call): Promise<Reply> | undefined =>
    call.path === DASHBOARD || call.path.startsWith(`${DASHBOARD}/`) ? this.#answer(call) : undefined;

  async #answer(call: Call): Promise<Reply> {
    const visit = await this.#parts.visits.of(call);
    const { signedIn } = visit;
    if (signedIn === undefined) return signInFirst(call.method === "GET" ? addressOf(call) : DASHBOARD);
    const method = call.method === "HEAD" ? "GET" : call.method;
    const matching = this.#rows.filter(({ pattern }) => pattern.test(call.path));
    const row = matching.find((each) => each.method === method);
    const params = row?.pattern.exec(call.path)?.groups ?? {};
    const view = this.#view(visit, signedIn, params);
    if (row) return this.#refused(view, row, method) ?? this.#run(view, row);
    if (matching.length === 0)
      return refusedPage(view, refuse({ code: "not_found", detail: "There is no such page in the dashboard." }));
    const allow = matching.map((each) => each.method);
    return framed(view, {
      title: "This does not work that way",
      status: 405,
      headers: { allow: allow.join(", ") },
      body: html`<h1>This does not work that way</h1><p>This address answers ${allow.join(", ")}.</p>`,
    });
  }

  /** The account's standing and the user's permission. */
  #refused(view: View, { scope }: Compiled, method: string): Reply | undefined {
    const unfit = standing(view.account, method);
    if (unfit?.reason.code === "account_suspended") return suspendedPage(view);
    if (unfit) return refusedPage(view, unfit);
    return scope === null || allows(view.caller.scopes, scope) ? undefined : forbiddenPage(view, scope);
  }

  async #run(view: View, row: Compiled): Promise<Reply> {
    if (row.method === "GET") return row.run(view);
    const posted = await this.#parts.visits.form(view.visit, row.bodyBytes + FRAME_BYTES);
    return "refused" in posted ? posted.refused : row.run({ ...view, fields: posted.fields });
  }

  #view(visit: Visit, { user, account }: SignedIn, params: Readonly<Record<string, string>>): View {
    const { unit, services, explain } = this.#parts;
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

  #operation(name: string): Row {
    const row = this.#parts.operations.find((each) => each.operation === name);
    if (row === undefined) throw new Error(`The route table has no operation ${name}`);
    return row;
  }
}

const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);

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
