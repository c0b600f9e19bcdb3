// What one page of the dashboard works with: who is signed in, what the address and the form say, and the operations of
// the REST API: the route table's own rows. Scope, query, existence, fields and states are judged there; so a page can
// never be allowed more, and says no in the same words. A form has no If-Match.
import { allows, type Caller } from "../../domain/access.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import { Unit } from "../../domain/work.ts";
import { answered, ask } from "../../http/ask.ts";
import type { Reply } from "../../http/call.ts";
import type { Operation } from "../../http/route.ts";
import type { Row } from "../../http/way.ts";
import { fieldsOf } from "../../kit/form.ts";
import { type JsonSchema, parse, trusted } from "../../kit/schema.ts";
import type { Visit } from "../visit.ts";
import type { WebParts } from "../way.ts";

/** One address of the dashboard. */
export interface DashboardRow extends Row {
  /** The operation of the REST API that it stands for; null where any user may. */
  readonly operation: string | null;
  readonly run: (view: View) => Promise<Reply>;
}

type Values = { readonly [name: string]: string };
type Asked = { readonly params?: Values; readonly query?: Values; readonly body?: unknown };

export type View = ReturnType<typeof viewOf>;

/** `params` are the values of the path; `fields` is what was posted, empty where nothing was. */
export function viewOf(
  { unit: unitParts, services, presenter, operations, explain }: WebParts,
  visit: Visit,
  params: Values,
  fields: ReadonlyMap<string, string> = new Map(),
) {
  if (visit.signedIn === undefined) throw new Error("Nobody is signed in");
  const { user, account } = visit.signedIn;
  const caller: Caller = { account, scopes: new Set(user.permissions), credential: user.id };
  const unit = new Unit(unitParts, visit.call.id);
  const { values } = fieldsOf(visit.call.query);
  const row = (name: string): Operation => {
    const found = operations.find(({ operation }) => operation === name);
    if (found === undefined) throw new Error(`The route table has no operation ${name}`);
    return found;
  };
  const unfit = (name: string): Refusal | undefined => {
    const { scope } = row(name);
    return scope === null || allows(caller.scopes, scope) ? undefined : refuse({ code: "insufficient_scope", scope });
  };
  return {
    ...{ visit, user, account, params, fields, explain, row, unfit, store: unit.store, links: services.links },
    query: (name: string): string | undefined => values.get(name),
    may: (name: string): boolean => unfit(name) === undefined,
    /** The body that the operation takes. */
    body: (name: string): JsonSchema => row(name).body?.(services).json ?? {},

    /** What the operation answers this user, of the page's own path where no other is named. */
    async ask<T>(name: string, { params: named = params, query = {}, body }: Asked = {}): Promise<T | Refusal> {
      const asked = parse(row(name).query, query);
      if ("faults" in asked) return refuse({ code: "invalid_parameter", detail: "The address is wrong.", errors: [] });
      const whole = {
        unit,
        caller,
        params: named,
        services,
        query: asked.value,
        call: visit.call,
        expect: () => undefined,
      };
      return unfit(name) ?? trusted<T | Refusal>(await ask(row(name), whole, body));
    },

    /** What the operation answered, as the API shows it; `once` is what it shows this once. */
    shown(name: string, value: unknown): { readonly members: Values; readonly once: unknown } {
      const { body } = answered(row(name), value, presenter, visit.call);
      const members = trusted<Values>(JSON.parse(body.toString()));
      const [secret = ""] = Object.keys(row(name).once ?? {});
      return { members, once: members[secret] };
    },
  };
}
