// The REST API, in the order that the contract fixes (part 5): its way checks the credential, the account's standing and the
// rate, and says with every answer what is left of it; the router finds the row; then come the scope, headers and query, the
// body, what was answered before, the resource, the fields, and the operation, which judges states. A page of the dashboard
// comes to `ask` with what a person typed; so it is allowed no more than a request, and shows the same.
import { allows, type Caller, standing } from "../domain/access.ts";
import { cutLimit, type Page } from "../domain/lists.ts";
import { asChosen, type Decide } from "../domain/readings.ts";
import { type FieldError, Refusal, refuse } from "../domain/refusal.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import { object, passing, type Schema, trusted } from "../kit/schema.ts";
import type { Authenticate } from "./authorization.ts";
import { type Call, empty, JSON_TYPE, type Reply, VERSION_PREFIX } from "./call.ts";
import { idempotencyKey, once } from "./idempotency.ts";
import { badInput, conditionsOf, FAILED, judged, parseJson, readFields, readQuery, unfitMediaType } from "./input.ts";
import { RATE_WINDOW_S, type Rate, type RateLimiter } from "./limits.ts";
import { problem } from "./problem.ts";
import type { Asked, Operation, Services } from "./route.ts";
import { accountRoutes } from "./routes-account.ts";
import { appRoutes } from "./routes-apps.ts";
import { filling, type Presenter } from "./view.ts";
import { type Answer, type Request, RouteTree, type Way } from "./way.ts";

export interface OperateParts {
  readonly unit: UnitParts;
  readonly services: Services;
  readonly presenter: Presenter;
}

export interface ApiParts extends OperateParts {
  readonly authenticate: Authenticate;
  readonly limiter: RateLimiter;
  /** Failures that a test asked for: one stands in the operation's place. */
  readonly faults: {
    strike(call: Call, row: Operation, goOn: () => Promise<Answer>): Promise<Answer>;
  };
}

/** The rows as they are read: what a request may bring, and what a success says. */
function read(rows: readonly Operation[], decide: Decide): readonly Operation[] {
  const taken = <S extends Schema<unknown>>(schema: S): S => (decide("2.unknown-members") ? passing(schema) : schema);
  const isCut = decide("8.max-limit").over === "cut";
  const gone = decide("4.delete-response");
  return rows.map((row): Operation => {
    const { body, location, method, target, headers } = row;
    const query = isCut && "limit" in row.query.members ? object({ ...row.query.members, limit: cutLimit }) : row.query;
    const other = { ...row, query: taken(query), ...(body && { body: (services: Services) => taken(body(services)) }) };
    if (location) return { ...other, status: decide("4.create-status") };
    if (method !== "DELETE" || !target?.view || gone === 204) return other;
    const view = { ...target.view, kind: "plain" } as const;
    return { ...other, status: gone, view, headers: { ...headers, "content-type": JSON_TYPE } };
  });
}

/** THE route table (spec part 4; contract, part 4), as a service has it that was asked for no other reading. */
export const API = new RouteTree(read([...appRoutes, ...accountRoutes], asChosen));

export function apiWay(parts: ApiParts): Way<Operation, Caller> {
  const { decide, links } = parts.services;
  const { limiter } = parts;
  // What stays the same is filled in once, and what is left with each answer: in place of what has that name already,
  // since a member that is new to an object costs ten times as much.
  const fixed = { limit: limiter.limit, window: RATE_WINDOW_S, remaining: "<remaining>", reset: "<reset>" };
  const told = Object.entries(decide("8.rate-headers")).map(([name, text]) => [name, filling(text)(fixed)] as const);
  const rateHeaders = Object.fromEntries(told);
  const counted = told.filter(([, text]) => text.includes("<")).map(([name, text]) => [name, filling(text)] as const);
  /** Says what is left, and refuses where nothing was. */
  function within({ remaining, reset_s, exceeded }: Rate, said: Reply["headers"]): Refusal | undefined {
    Object.assign(said, rateHeaders);
    for (const [name, filled] of counted) said[name] = filled({ remaining, reset: reset_s });
    return exceeded ? refuse({ code: "rate_limit_exceeded", retry_after_s: reset_s }) : undefined;
  }
  return {
    under: VERSION_PREFIX,
    tree: decide === asChosen ? API : new RouteTree(read(API.rows, decide)),
    async enter(call, said) {
      const who = await parts.authenticate(call.values("authorization"));
      if (who instanceof Refusal) return who;
      const unfit = standing(who.account, call.method);
      const rate = await limiter.count(who.account.id, unfit ? 0 : 1);
      const over = rate && within(rate, said); // said with every answer that has an account
      return unfit ?? over ?? { who };
    },
    async perform(row, request) {
      const { call, who } = request;
      const { scope } = row;
      if (scope !== null && !allows(who.scopes, scope)) {
        const has = who.scopes.join(", ") || "none that its user still holds";
        return refuse({
          code: "insufficient_scope",
          scope,
          detail: `This needs the scope ${scope}; the token has ${has}.`,
        });
      }
      return parts.faults.strike(call, row, () => operate(parts, row, request));
    },
    refused: (refusal, call) => problem(refusal, call.id, links, decide),
  };
}

/** What is allowed: it reads what the request brings and does it. */
export async function operate(
  { services, presenter, unit: parts }: OperateParts,
  row: Operation,
  { call, who: caller, params }: Request<Caller>,
): Promise<Answer> {
  const wrong: FieldError[] = [];
  const conditions = conditionsOf(call, wrong);
  const key = idempotencyKey(call, wrong);
  const query = readQuery(row.query, call.query, wrong);
  if (wrong.length > 0) return badInput(wrong);
  const there = row.target?.view;
  const expect = (record: object) =>
    there && conditions && judged(conditions, presenter.shown(there, record).etag, FAILED);
  const perform = async (sent: unknown, unit: Unit): Promise<Answer> => {
    const { account, user } = caller;
    const asked = { unit, account, user, params, services, query, call, expect, body: undefined };
    const result = await ask(row, asked, sent);
    if (result instanceof Refusal) return result;
    const reply = answered(row, result, presenter, call);
    const { etag } = reply.headers;
    const isRead = etag !== undefined && row.method === "GET";
    return (isRead && conditions && judged(conditions, etag, empty(304, { etag }))) || reply;
  };
  // Where none is taken it still tells one request from another with the same key.
  const isWanted = row.body !== undefined || key !== undefined;
  const body = isWanted ? await call.body(row.bodyLimit, row.body && unfitMediaType(call)) : undefined;
  if (body instanceof Refusal) return body;
  const sent = row.body && body && parseJson(body, row.keepNumbers);
  if (sent instanceof Refusal) return sent;
  if (key === undefined) return perform(sent, new Unit(parts, call.id));
  return once(parts, { caller, key, call, body }, (keep) =>
    perform(sent, new Unit(parts, call.id, ({ tx }, value) => keep(tx, answered(row, value, presenter, call, true)))),
  );
}

/** The resource, the fields, and then the operation itself, which judges states. */
export async function ask(row: Operation, asked: Asked & { body: unknown }, sent: unknown): Promise<unknown> {
  const there = row.target && (await row.target.run(asked));
  if (there instanceof Refusal) return there;
  asked.body = row.body && (await readFields(row.body(asked.services), sent));
  return asked.body instanceof Refusal ? asked.body : await row.run(asked);
}

/** The answer to what went well. `isKept`: as it comes again, without what is shown once. */
export function answered(
  { status, headers: own, view, location, once, method }: Operation,
  result: unknown,
  presenter: Presenter,
  { path, query }: Pick<Call, "path" | "query">,
  isKept = false,
): Reply {
  // Not a copy by spread: that cost each request 10 us.
  const headers: Reply["headers"] = Object.assign({}, own);
  if (view === undefined) return { status, headers, body: "" };
  const { links } = presenter;
  if (view.kind === "page") {
    const link = neighbours(trusted(result), links.authUrl + path, query);
    if (link !== "") headers.link = link;
    if (presenter.isTotalApart) headers["x-total-count"] = String(trusted<Page<unknown>>(result).total);
  }
  if (view.kind !== "one") return { status, headers, body: view.text(result, presenter) };
  const record = trusted<object>(result);
  const { text, etag } = method === "GET" ? presenter.shown(view, record) : presenter.fresh(view, record);
  headers.etag = etag;
  if (location) headers.location = links.baseUrl + location(record);
  if (once === undefined) return { status, headers, body: text };
  const shown = Object.entries(once).map(([name, of]) => [name, isKept ? null : of(record, links)]);
  return { status, headers, body: `${text.slice(0, -1)},${JSON.stringify(Object.fromEntries(shown)).slice(1)}` };
}

/** RFC 8288: where the next and the previous page are. */
function neighbours({ total, span: { limit, offset } }: Page<unknown>, url: string, query: string): string {
  const to = (at: number, rel: "next" | "prev") => {
    const given = new URLSearchParams(query);
    given.set("limit", String(limit));
    given.set("offset", String(at));
    return `<${url}?${given}>; rel="${rel}"`;
  };
  const found: string[] = [];
  if (offset + limit < total) found.push(to(offset + limit, "next"));
  if (offset > 0) found.push(to(Math.max(Math.min(offset, total) - limit, 0), "prev"));
  return found.join(", ");
}
