// What one page of the dashboard works with: who is signed in, what the address and the form say, and the operations of
// the REST API: the route table's own rows. Scope, query, existence, fields and states are judged there; so a page can
// never be allowed more, and says no in the same words. A form has no If-Match.
import { allows, type Caller } from "../../domain/access.ts";
import type { Page } from "../../domain/lists.ts";
import type { AccountRecord, UserRecord } from "../../domain/model.ts";
import { Refusal, refuse } from "../../domain/refusal.ts";
import { Unit, type UnitParts } from "../../domain/work.ts";
import { ask } from "../../http/ask.ts";
import type { Reply } from "../../http/call.ts";
import type { Operation, Services } from "../../http/route.ts";
import type { Presenter } from "../../http/view.ts";
import type { Row } from "../../http/way.ts";
import { fieldsOf } from "../../kit/form.ts";
import { type JsonSchema, parse, trusted } from "../../kit/schema.ts";
import type { Span } from "../parts.ts";
import type { Explain } from "../routes.ts";
import type { Visit } from "../visit.ts";

/** What every page may use. */
export interface ViewParts {
  readonly unit: UnitParts;
  readonly services: Services;
  readonly presenter: Presenter;
  /** The route table: what each operation takes. */
  readonly operations: readonly Operation[];
  readonly explain: Explain;
}

/** One address of the dashboard. */
export interface DashboardRow extends Row {
  /** The operation of the REST API that it stands for; null where any user may. */
  readonly operation: string | null;
  readonly run: (view: View) => Promise<Reply>;
}

type Values = { readonly [name: string]: string };

interface Asked {
  /** The path's own where none are named. */
  readonly params?: Values;
  readonly query?: Values;
  readonly body?: unknown;
}

export class View {
  readonly visit: Visit;
  readonly user: UserRecord;
  readonly account: AccountRecord;
  /** The values of the path. */
  readonly params: Values;
  /** What was posted; empty where nothing was. */
  readonly fields: ReadonlyMap<string, string>;
  readonly unit: Unit;
  readonly #parts: ViewParts;
  readonly #caller: Caller;

  constructor(parts: ViewParts, visit: Visit, params: Values, fields: View["fields"] = new Map()) {
    if (visit.signedIn === undefined) throw new Error("Nobody is signed in");
    const { user, account } = visit.signedIn;
    this.#parts = parts;
    this.#caller = { account, scopes: new Set(user.permissions), credential: user.id };
    this.visit = visit;
    this.user = user;
    this.account = account;
    this.params = params;
    this.fields = fields;
    this.unit = new Unit(parts.unit, visit.call.id);
  }

  get links(): Services["links"] {
    return this.#parts.services.links;
  }

  /** The same person at another place. */
  at(params: Values, fields = this.fields): View {
    return new View(this.#parts, this.visit, params, fields);
  }

  /** A value of the query. */
  query = (name: string): string | undefined => fieldsOf(this.visit.call.query).values.get(name);

  row(name: string): Operation {
    const row = this.#parts.operations.find(({ operation }) => operation === name);
    if (row === undefined) throw new Error(`The route table has no operation ${name}`);
    return row;
  }

  /** The body that the operation takes. */
  body(name: string): JsonSchema {
    return this.row(name).body?.json ?? {};
  }

  /** Whether the user may do what this operation does. */
  may(name: string): boolean {
    const { scope } = this.row(name);
    return scope === null || allows(this.#caller.scopes, scope);
  }

  explain(refusal: Refusal): ReturnType<Explain> {
    return this.#parts.explain(refusal);
  }

  /** What the operation answers this user; the route table says of which kind that is. */
  async ask<T>(name: string, { params = this.params, query = {}, body }: Asked = {}): Promise<T | Refusal> {
    const row = this.row(name);
    if (row.scope !== null && !this.may(name)) return refuse({ code: "insufficient_scope", scope: row.scope });
    const asked = parse(row.query, query);
    if ("faults" in asked) return refuse({ code: "invalid_parameter", detail: "The address is wrong.", errors: [] });
    const base = { unit: this.unit, caller: this.#caller, params, services: this.#parts.services };
    return trusted<T | Refusal>(await ask(row, base, asked.value, body, () => undefined));
  }

  /** What the operation answered, as the API shows it; `once` is what it shows this once. */
  shown(name: string, value: unknown): { readonly members: object; readonly id: string; readonly once: unknown } {
    const { answer } = this.row(name);
    const members = trusted<Values>(JSON.parse(answer.present(value, this.#parts.presenter, this.visit.call).text));
    const [secret = ""] = answer.shape.kind === "one" ? answer.shape.shownOnce : [];
    return { members, id: members.id ?? "", once: members[secret] };
  }
}

const PAGE_LENGTH = 20;

/**
 * A page of a list with the newest first, whereas the API lists in creation order. `skip` is in the query; one that makes
 * no sense is none.
 */
export async function newest<R>(
  view: View,
  name: string,
  filter: Values = {},
  limit = PAGE_LENGTH,
): Promise<(Span & { readonly items: readonly R[] }) | Refusal> {
  const read = (offset: number, most: number) =>
    view.ask<Page<R>>(name, { query: { ...filter, offset: String(offset), limit: String(most) } });
  const skip = Number(/^\d{1,9}$/.exec(view.query("skip") ?? "")?.[0] ?? 0);
  const counted = await read(0, 1);
  if (counted instanceof Refusal) return counted;
  const end = Math.max(counted.total - skip, 0);
  const offset = Math.max(end - limit, 0);
  const found = end === 0 ? { items: [] } : await read(offset, end - offset);
  return found instanceof Refusal ? found : { items: found.items.toReversed(), skip, limit, total: counted.total };
}
