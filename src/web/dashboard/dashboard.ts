// The account dashboard (contract, part 1; the specification names it in parts 5 and 6): finds the page and goes through the
// same steps as the REST API in the order that suits a browser: signed in, the account's standing, the permission, the form.
import { sha256, standing } from "../../domain/access.ts";
import { refuse } from "../../domain/refusal.ts";
import type { Call, Reply } from "../../http/call.ts";
import { DASHBOARD } from "../page.ts";
import { signInFirst } from "../sign-in.ts";
import type { Visits } from "../visit.ts";
import { refusedPage } from "./frame.ts";
import { Answered } from "./once.ts";
import { type DashboardRow, View, type ViewParts } from "./view.ts";

export interface DashboardParts extends ViewParts {
  readonly visits: Visits;
}

/** A row and what its path looks like. */
interface Compiled extends DashboardRow {
  readonly pattern: RegExp;
}

/** What a form carries beside the data that an operation takes. */
const FRAME_BYTES = 65_536;

export class Dashboard {
  readonly #parts: DashboardParts;
  readonly #rows: readonly Compiled[];
  readonly #answered: Answered;

  constructor(rows: readonly DashboardRow[], parts: DashboardParts) {
    this.#parts = parts;
    this.#answered = new Answered(parts.unit.clock);
    this.#rows = rows.map((row) => ({ ...row, pattern: patternOf(row.path) }));
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
    const view = new View(this.#parts, visit, signedIn, params);
    if (row) return this.#refused(view, row, method) ?? this.#run(view, row);
    if (matching.length === 0)
      return refusedPage(view, refuse({ code: "not_found", detail: "There is no such page in the dashboard." }));
    return refusedPage(view, refuse({ code: "method_not_allowed", allow: matching.map((each) => each.method) }));
  }

  /** The account's standing and the user's permission. */
  #refused(view: View, { operation }: Compiled, method: string): Reply | undefined {
    const scope = operation === null || view.may(operation) ? null : view.row(operation).scope;
    const forbidden = scope === null ? undefined : refuse({ code: "insufficient_scope", scope });
    const unfit = standing(view.signedIn.account, method) ?? forbidden;
    return unfit && refusedPage(view, unfit);
  }

  async #run(view: View, row: Compiled): Promise<Reply> {
    const { visit } = view;
    if (row.method === "GET") return unlessKnown(visit.call, await row.run(view));
    const posted = await this.#parts.visits.form(
      visit,
      FRAME_BYTES + (row.operation === null ? 0 : view.row(row.operation).bodyLimit),
    );
    if ("refused" in posted) return posted.refused;
    const { fields } = posted;
    const once = fields.get("once");
    const run = () => row.run(view.at(view.params, fields));
    return once === undefined ? run() : this.#answered.once([visit.secret, row.path, ...[...fields].flat()], run);
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
