// The way to the account dashboard (contract, part 1; the specification names it in parts 5 and 6): the same steps as for the
// REST API in the order that suits a browser: signed in, the account's standing, the permission, the form.
import { sha256, standing } from "../../domain/access.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import type { Call, Reply } from "../../http/call.ts";
import type { Request, Way } from "../../http/way.ts";
import { DASHBOARD } from "../page.ts";
import { refusedAs } from "../routes.ts";
import { signInFirst } from "../sign-in.ts";
import type { Visit, Visits } from "../visit.ts";
import { refusedPage } from "./frame.ts";
import { Answered } from "./once.ts";
import { type DashboardRow, View, type ViewParts } from "./view.ts";

export interface DashboardParts extends ViewParts {
  readonly visits: Visits;
}

/** What a form carries beside the data that an operation takes. */
const FRAME_BYTES = 65_536;

export class Dashboard implements Way<DashboardRow, Visit> {
  readonly under = DASHBOARD;
  readonly rows: readonly DashboardRow[];
  readonly #parts: DashboardParts;
  readonly #answered: Answered;

  constructor(rows: readonly DashboardRow[], parts: DashboardParts) {
    this.#parts = parts;
    this.#answered = new Answered(parts.unit.clock);
    this.rows = rows.map((row) => ({ ...row, path: row.path.slice(DASHBOARD.length) }));
  }

  enter(call: Call): Promise<Visit> {
    return this.#parts.visits.of(call);
  }

  admit({ signedIn }: Visit, call: Call): Reply | undefined {
    return signedIn ? undefined : signInFirst(call.method === "GET" ? addressOf(call) : DASHBOARD);
  }

  /** The account's standing, the user's permission, the form; one that makes something is answered once. */
  async perform(row: DashboardRow, { call, who, params }: Request<Visit>): Promise<Reply> {
    const view = new View(this.#parts, who, params);
    const operation = row.operation === null ? undefined : view.row(row.operation);
    const scope = operation && !view.may(operation.operation) ? operation.scope : null;
    const forbidden = scope === null ? undefined : refuse({ code: "insufficient_scope", scope });
    const unfit = standing(view.account, call.method) ?? forbidden;
    if (unfit) return refusedPage(view, unfit);
    if (row.method === "GET") return unlessKnown(call, await row.run(view));
    const posted = await this.#parts.visits.form(who, FRAME_BYTES + (operation?.bodyLimit ?? 0));
    if ("refused" in posted) return posted.refused;
    const { fields } = posted;
    const run = () => row.run(view.at(params, fields));
    return fields.has("once") ? this.#answered.once([who.secret, call.path, ...[...fields].flat()], run) : run();
  }

  refused(refusal: Refusal, _call: Call, visit?: Visit): Reply {
    return visit?.signedIn
      ? refusedPage(new View(this.#parts, visit, {}), refusal)
      : refusedAs(this.#parts.explain)(refusal);
  }
}

/** A page that somebody looks at is asked for again and again: one that has not changed is not sent again. */
function unlessKnown(call: Call, reply: Reply): Reply {
  const etag = `"${sha256(reply.body.toString()).slice(0, ETAG_CHARACTERS)}"`;
  const headers = { ...reply.headers, etag };
  return call.values("if-none-match").includes(etag) ? { status: 304, headers, body: "" } : { ...reply, headers };
}

const ETAG_CHARACTERS = 20;

const addressOf = ({ path, query }: Call): string => (query === "" ? path : `${path}?${query}`);
