// What becomes of a request once its operation is found, in the order that the contract fixes (part 5): the scope, headers
// and query, the body, what was answered before, the resource, the fields, and then the operation, which judges states.
import { allows, type Caller } from "../domain/access.ts";
import type { Scope } from "../domain/model.ts";
import { type FieldError, Refusal, refuse } from "../domain/refusal.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import { ask } from "./ask.ts";
import { type Call, empty, type Reply } from "./call.ts";
import { type Conditions, conditionsOf, forbids, judge } from "./conditional.ts";
import { idempotencyKey, once } from "./idempotency.ts";
import { type Body, badInput, readJson, readQuery } from "./input.ts";
import type { Operation, Presented, Services } from "./route.ts";
import type { Presenter } from "./view.ts";
import type { Answer, Request } from "./way.ts";

export interface OperateParts {
  readonly unit: UnitParts;
  readonly services: Services;
  readonly presenter: Presenter;
  /** Failures that a test asked for: one stands in the operation's place. */
  readonly faults?: { readonly armed: boolean; strike(call: Call, row: Operation): Promise<Answer | undefined> };
}

/** What was read of a request that is well-formed. */
interface Read extends Request<Caller> {
  readonly row: Operation;
  readonly query: unknown;
  readonly conditions: Conditions;
  readonly body: Body;
}

const NO_BODY: Body = { bytes: Buffer.alloc(0), value: undefined };

export async function operate(parts: OperateParts, row: Operation, request: Request<Caller>): Promise<Answer> {
  const { call, who } = request;
  if (row.scope !== null && !allows(who.scopes, row.scope))
    return refuse({ code: "insufficient_scope", scope: row.scope, detail: lacking(row.scope, who) });
  const struck = parts.faults?.armed ? await parts.faults.strike(call, row) : undefined;
  if (struck) return struck;
  const wrong: FieldError[] = [];
  const conditions = conditionsOf(call, wrong);
  const key = idempotencyKey(call, wrong);
  const query = readQuery(row.query, call.query, wrong);
  if (wrong.length > 0) return badInput(wrong);
  const body = row.body ? await readJson(call, row.bodyLimit) : NO_BODY;
  if (body instanceof Refusal) return body;
  const read = { call, who, params: request.params, row, query, conditions, body };
  if (key === undefined) return await perform(parts, read, new Unit(parts.unit, call.id));
  return await once(parts.unit, { caller: who, key, call, body: body.bytes }, (keep) => {
    const unit = new Unit(parts.unit, call.id, (w, value) => {
      const presented = row.answer.present(value, parts.presenter, call);
      return keep(w.tx, { ...replyOf(row, presented), body: presented.kept ?? presented.text });
    });
    return perform(parts, read, unit);
  });
}

const lacking = (scope: Scope, { scopes }: Caller): string =>
  `This needs the scope ${scope}; the token has ${[...scopes].join(", ") || "none that its user still holds"}.`;

/** The resource, the fields, the operation, and what the conditions say to its answer. */
async function perform({ services, presenter }: OperateParts, read: Read, unit: Unit): Promise<Answer> {
  const { call, who, row, params, query, conditions } = read;
  const { target } = row;
  const expect = (record: object) => target && forbids(conditions, presenter.tagged(target.view, record).etag);
  const result = await ask(row, { unit, caller: who, params, services }, query, read.body.value, expect);
  if (result instanceof Refusal) return result;
  const presented = row.answer.present(result, presenter, call);
  const { etag } = presented;
  if (row.method !== "GET" || etag === undefined) return replyOf(row, presented);
  const verdict = judge(conditions, etag);
  if (verdict instanceof Refusal) return verdict;
  return verdict === "not-modified" ? empty(304, { etag }) : replyOf(row, presented);
}

/** One by one: spreads in their place took 4 % of a create and 2 % of a GET. */
function replyOf({ headers, answer }: Operation, presented: Presented): Reply {
  const all: Reply["headers"] = {};
  for (const name in headers) all[name] = headers[name] ?? "";
  if (presented.etag) all.etag = presented.etag;
  for (const name in presented.headers) all[name] = presented.headers[name] ?? "";
  return { status: answer.status, headers: all, body: presented.text };
}
