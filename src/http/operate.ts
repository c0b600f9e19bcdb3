// What becomes of a request once its operation is found, in the order that the contract fixes (part 5): the scope, headers
// and query, the body, what was answered before, the resource, the fields, and then the operation, which judges states.
import { allows, type Caller } from "../domain/access.ts";
import type { Scope } from "../domain/model.ts";
import { type FieldError, Refusal, refuse } from "../domain/refusal.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import { answered, ask } from "./ask.ts";
import type { Call } from "./call.ts";
import { conditionsOf, forbids, judged } from "./conditional.ts";
import { idempotencyKey, once } from "./idempotency.ts";
import { type Body, badInput, readJson, readQuery } from "./input.ts";
import type { Operation, Services } from "./route.ts";
import type { Presenter } from "./view.ts";
import type { Answer, Request } from "./way.ts";

export interface OperateParts {
  readonly unit: UnitParts;
  readonly services: Services;
  readonly presenter: Presenter;
  /** Failures that a test asked for: one stands in the operation's place. */
  readonly faults: { strike(call: Call, row: Operation): Promise<Answer | undefined> };
}

const NO_BODY: Body = { bytes: Buffer.alloc(0), value: undefined };

export async function operate(parts: OperateParts, row: Operation, request: Request<Caller>): Promise<Answer> {
  const { call, who: caller, params } = request;
  const { services, presenter } = parts;
  if (row.scope !== null && !allows(caller.scopes, row.scope))
    return refuse({ code: "insufficient_scope", scope: row.scope, detail: lacking(row.scope, caller) });
  const struck = await parts.faults.strike(call, row);
  if (struck) return struck;
  const wrong: FieldError[] = [];
  const conditions = conditionsOf(call, wrong);
  const key = idempotencyKey(call, wrong);
  const query = readQuery(row.query, call.query, wrong);
  if (wrong.length > 0) return badInput(wrong);
  const body = row.body ? await readJson(call, row.bodyLimit) : NO_BODY;
  if (body instanceof Refusal) return body;
  const there = row.target?.view;
  const expect = (record: object) => there && forbids(conditions, presenter.shown(there, record).etag);
  const perform = async (unit: Unit): Promise<Answer> => {
    const result = await ask(row, { unit, caller, params, services, query, call, expect }, body.value);
    if (result instanceof Refusal) return result;
    const reply = answered(row, result, presenter, call);
    return row.method === "GET" ? judged(conditions, reply) : reply;
  };
  if (key === undefined) return await perform(new Unit(parts.unit, call.id));
  return await once(parts.unit, { caller, key, call, body: body.bytes }, (keep) =>
    perform(new Unit(parts.unit, call.id, ({ tx }, value) => keep(tx, answered(row, value, presenter, call, true)))),
  );
}

const lacking = (scope: Scope, { scopes }: Caller): string =>
  `This needs the scope ${scope}; the token has ${[...scopes].join(", ") || "none that its user still holds"}.`;
