// The account dashboard (contract, part 1; the specification names it in parts 5 and 6): finds the page and goes through the
// same steps as the REST API in the order that suits a browser: signed in, the account's standing, the permission, the form.
import { type Caller, sha256, standing } from "../../domain/access.ts";
import type { Scope } from "../../domain/model.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import type { SignedIn } from "../../domain/sessions.ts";
import { Unit, type UnitParts } from "../../domain/work.ts";
import type { Call, Reply } from "../../http/call.ts";
import type { Input, Row, Services } from "../../http/route.ts";
import { fieldsOf } from "../../kit/form.ts";
import { trusted } from "../../kit/schema.ts";
import { html } from "../html.ts";
import { DASHBOARD, messagePage } from "../page.ts";
import { signInFirst, whoIsIn } from "../sign-in.ts";
import type { Visit, Visits } from "../visit.ts";
import { framed, refusedPage } from "./frame.ts";
import { Answered } from "./once.ts";
import { Operations } from "./operations.ts";
import type { DashboardRow, Explained, View } from "./view.ts";

export interface DashboardParts {
  readonly visits: Visits;
  readonly unit: UnitParts;
  readonly services: Services;
  /** The route table: what each operation takes. */
  readonly operations: readonly Row[];
  readonly presenter: Input["presenter"];
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
  readonly #operations: Operations;
  readonly #answered: Answered;

  constructor(rows: readonly DashboardRow[], parts: DashboardParts) {
    this.#parts = parts;
    this.#operations = new Operations(parts.operations, parts.services, parts.presenter);
    this.#answered = new Answered(parts.unit.clock);
    this.#rows = rows.map((row) => {
      const operation = row.operation === null ? undefined : this.#operations.row(row.operation);
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
  #refused(view: View, { scope, operation }: Compiled, method: string): Reply | undefined {
    const unfit = standing(view.account, method);
    if (unfit?.reason.code === "account_suspended") return suspendedPage(view);
    if (unfit) return refusedPage(view, unfit);
    return scope === null || operation === null || view.may(operation) ? undefined : forbiddenPage(view, scope);
  }

  async #run(view: View, row: Compiled): Promise<Reply> {
    const { visit } = view;
    if (row.method === "GET") return unlessKnown(visit.call, await row.run(view));
    const posted = await this.#parts.visits.form(visit, row.bodyBytes + FRAME_BYTES);
    if ("refused" in posted) return posted.refused;
    const { fields } = posted;
    const once = fields.get("once");
    const run = () => row.run({ ...view, fields });
    return once === undefined ? run() : this.#answered.once([visit.secret, row.path, ...[...fields].flat()], run);
  }

  #view(visit: Visit, { user, account }: SignedIn, params: View["params"]): View {
    const { services, explain } = this.#parts;
    const { values } = fieldsOf(visit.call.query);
    const caller: Caller = { account, scopes: new Set(user.permissions), credential: user.id };
    const unit = new Unit(this.#parts.unit, visit.call.id);
    const operations = this.#operations;
    return {
      visit,
      user,
      account,
      unit,
      links: services.links,
      operations,
      fields: new Map(),
      params,
      query: (name) => values.get(name),
      may: (operation) => operations.may(operation, caller),
      ask: async (operation, asked) => trusted(await operations.ask(operation, unit, caller, { params, ...asked })),
      explain,
    };
  }
}

/** A page that somebody looks at is asked for again and again: one that has not changed is not sent again. */
function unlessKnown(call: Call, reply: Reply): Reply {
  const etag = `"${sha256(reply.body.toString()).slice(0, ETAG_CHARACTERS)}"`;
  const headers = { ...reply.headers, etag };
  return call.values("if-none-match").includes(etag) ? { status: 304, headers, body: "" } : { ...reply, headers };
}

const ETAG_CHARACTERS = 20;

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
