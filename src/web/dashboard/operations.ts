// The operations of the REST API as the dashboard calls them: the route table's own rows. Scope, query, existence, fields
// and states are judged there; so a page can never be allowed more, and says no in the same words. A form has no If-Match.
import { allows, type Caller } from "../../domain/access.ts";
import { Refusal, refuse } from "../../domain/refusal.ts";
import type { Unit } from "../../domain/work.ts";
import type { Call } from "../../http/call.ts";
import type { Input, Row, Services } from "../../http/route.ts";
import { type JsonSchema, trusted } from "../../kit/schema.ts";

type Values = { readonly [name: string]: string };

export interface Asked {
  /** The path's parameters; the page's own where none are named. */
  readonly params?: Values;
  readonly query?: Values;
  readonly body?: unknown;
}

export class Operations {
  readonly #rows: ReadonlyMap<string, Row>;
  readonly #services: Services;
  readonly #presenter: Input["presenter"];

  constructor(rows: readonly Row[], services: Services, presenter: Input["presenter"]) {
    this.#rows = new Map(rows.map((row) => [row.operation, row]));
    this.#services = services;
    this.#presenter = presenter;
  }

  row(name: string): Row {
    const row = this.#rows.get(name);
    if (row === undefined) throw new Error(`The route table has no operation ${name}`);
    return row;
  }

  may(name: string, { scopes }: Caller): boolean {
    const { scope } = this.row(name);
    return scope === null || allows(scopes, scope);
  }

  body(name: string): JsonSchema {
    return this.row(name).body?.json ?? {};
  }

  async ask(name: string, unit: Unit, caller: Caller, { params = {}, query = {}, body }: Asked): Promise<unknown> {
    const row = this.row(name);
    if (row.scope !== null && !this.may(name, caller)) return refuse({ code: "insufficient_scope", scope: row.scope });
    const read = row.readQuery(query);
    if ("faults" in read)
      return refuse({ code: "invalid_parameter", detail: "The address is wrong.", errors: read.faults });
    const [services, presenter] = [this.#services, this.#presenter];
    const judge = () => undefined;
    const prepared = row.begin({ unit, caller, params, services, presenter, query: read.value, judge });
    const missing = await prepared.find?.();
    if (missing) return missing;
    const run = prepared.check(body);
    return run instanceof Refusal ? run : run();
  }

  /** What the operation answered, as the API shows it; `once` is what it shows this once. */
  shown(
    name: string,
    value: unknown,
    call: Call,
  ): { readonly members: object; readonly id: string; readonly once: unknown } {
    const { answer, present } = this.row(name);
    const members = trusted<Values>(JSON.parse(present(value, this.#presenter, call).text));
    const [secret = ""] = answer.shape.kind === "one" ? answer.shape.shownOnce : [];
    return { members, id: members.id ?? "", once: members[secret] };
  }
}
