// The test controls (contract, part 10): the embedding handle's verbs, for tests in any language. Their way opens to the
// start-up API key and to nothing else, so it opens while the account is suspended and after the key has been deleted from
// it; nothing here counts against the rate. What cannot be done is a refusal.
import { timingSafeEqual } from "node:crypto";
import { type Caller, sha256 } from "../domain/access.ts";
import { accountState, SCOPES, scope } from "../domain/model.ts";
import { invalidField, notFound, Refusal, refuse } from "../domain/refusal.ts";
import { isStoreError, type StoreData } from "../domain/store.ts";
import { type OperateParts, operate } from "../http/api.ts";
import { bearerToken } from "../http/authorization.ts";
import { jsonReply } from "../http/call.ts";
import { CONTROL_PREFIX } from "../http/links.ts";
import { problem } from "../http/problem.ts";
import { chosen, type Operation, route, type Services } from "../http/route.ts";
import { accountView, plain, shape } from "../http/view.ts";
import { document, openWay, RouteTree, type Way } from "../http/way.ts";
import { duration, iso } from "../kit/clock.ts";
import { type JsonSchema, list, OptionError, object, optional, taken, text, withDefault } from "../kit/schema.ts";
import type { Rule, Rules } from "./disturbances.ts";
import type { Service } from "./service.ts";

const OFF = "The test controls are off; start the server with --control.";

/** Where they are off (no `service`), whoever looks for them is told so, and so is the console. */
export const controlWay = (
  parts: OperateParts,
  service: Service | undefined,
  warn: (line: string) => void,
): Way<Operation, Caller> => ({
  under: CONTROL_PREFIX,
  tree: new RouteTree(service ? controlRows(service) : []),
  async enter(call) {
    if (service === undefined) {
      warn(OFF);
      return refuse({ code: "not_found", detail: OFF });
    }
    const token = bearerToken(call.values("authorization"));
    if (token instanceof Refusal) return token;
    const { apiKey, account } = service;
    if (apiKey !== null && timingSafeEqual(Buffer.from(sha256(token)), Buffer.from(sha256(apiKey))))
      return { who: { account, scopes: [], credential: CONTROL_PREFIX } };
    const detail = "The test controls take the start-up API key and no other credential.";
    return refuse({ code: "insufficient_scope", scope: "admin", detail });
  },
  perform: (row, request) => operate(parts, row, request),
  refused: (refusal, call) => problem(refusal, call.id, parts.services.links),
});

/** The OpenAPI document of the test controls. It needs no credential, so that generators can load it. */
export const controlDocument = (operations: readonly Operation[], services: Services): Way =>
  openWay(
    [
      document(`${CONTROL_PREFIX}/openapi.json`, async () => {
        const { createControlDocument } = await import("../http/openapi.ts");
        return jsonReply(200, createControlDocument(operations, services));
      }),
    ],
    (refusal, call) => problem(refusal, call.id, services.links),
  );

/** A snapshot of a hundred thousand apps fits. */
const SNAPSHOT_BYTES = 256 * 1024 * 1024;

const ANY_OBJECT: JsonSchema = { type: "object", additionalProperties: true };

const time = text({ max: 14, pattern: /^\d{1,12}(ms|s|m|h|d)$/, says: "a duration such as 250ms, 30s, 5m, 2h or 1d" });

const yes = taken<boolean>({ const: true }, "true", (value) => value === true);
/** Whether it is one, is judged where it is restored. */
const snapshot = taken<StoreData>(ANY_OBJECT, "a snapshot", () => true);

const movement = object({ advance: optional(time), freeze: optional(yes), resume: optional(yes) }, (asked) =>
  Object.keys(asked).length === 1 ? [] : [{ path: [], detail: "must have one of advance, freeze and resume" }],
);
const clockBody = { ...movement, json: { ...movement.json, minProperties: 1, maxProperties: 1 } };

const string: JsonSchema = { type: "string" };
const items: JsonSchema = { type: "array", items: ANY_OBJECT };
const all = plain(shape({ data: items, total: { type: "integer", minimum: 0 } }));
const ran: JsonSchema = { type: "array", items: shape({ at: string, what: string }) };

const signInBody = object({
  scopes: list(scope, { min: 1, max: SCOPES.length, distinct: true }),
  userId: optional(text({ min: 1, max: 200 })),
});
const tokenResponse = plain(
  shape({
    access_token: string,
    token_type: string,
    expires_in: { type: "integer", description: "Seconds." },
    refresh_token: string,
    scope: string,
  }),
);

const controlRows = (service: Service): readonly Operation[] =>
  chosen("1.test-controls", [
    route("POST /clock", null, "changeClock", "Advance, freeze or resume the service's clock", {
      bodyName: "ClockChange",
      body: clockBody,
      view: plain(shape({ now: string, ran })),
      run: ({ body: { advance, freeze, resume } }) =>
        refusedAt("#/advance", async () => {
          const { clock } = service;
          if (freeze) clock.freeze();
          if (resume) clock.resume();
          const ran = advance === undefined ? [] : await clock.advance(advance);
          return { now: iso(clock.now()), ran };
        }),
    }),
    route("POST /settled", null, "waitUntilSettled", "Wait until every delivery that is due has been attempted", {
      query: object({ timeout: withDefault(time, "5s") }),
      view: plain(shape({ settled: { type: "boolean" }, pending: items })),
      run: ({ query }) => service.settled({ timeoutMs: duration(query.timeout) }),
    }),
    ...rulesAt("/faults", "Fault", "faults: rules that make requests fail", service.faults),
    ...rulesAt("/chaos", "ChaosRule", "chaos rules, which disturb deliveries", service.chaos),
    journal(service, "requests", "listRecordedRequests", "What came in"),
    journal(service, "events", "listRecordedEvents", "What was emitted"),
    journal(service, "deliveries", "listRecordedDeliveries", "What was sent, and is to be"),
    route("GET /trace/{request_id}", null, "traceRequest", "What a request has led to", {
      view: plain(shape({ request: ANY_OBJECT, events: items })),
      run: async ({ params }) => service.trace(params.request_id) ?? notFound("request in the journal"),
    }),
    route("POST /reset", null, "resetService", "Reset the service to its seed", { run: () => service.reset() }),
    route("GET /snapshot", null, "createSnapshot", "Create a snapshot of all data and of the time", {
      view: plain(snapshot.json),
      run: () => service.snapshot(),
    }),
    route("PUT /snapshot", null, "restoreSnapshot", "Restore a snapshot and its time", {
      bodyLimit: SNAPSHOT_BYTES,
      bodyName: "Snapshot",
      body: snapshot,
      run: ({ body }) => refusedAt("#", () => service.restore(body)),
    }),
    route("PATCH /account", null, "setAccountState", "Suspend or limit the account, or make it active again", {
      bodyName: "AccountStateUpdate",
      body: object({ state: accountState }),
      view: accountView,
      run: async ({ body }) => ({ ...(await service.setAccountState(body.state)), user: null }),
    }),
    route("POST /sign-in", null, "signInUser", "Issue tokens to a user, by default the account's first admin", {
      bodyName: "SignIn",
      body: signInBody,
      view: tokenResponse,
      run: ({ body }) => refusedAt("#", () => service.signIn(body)),
    }),
  ]);

/** What the handle throws at a caller in its own process, as a refusal. */
async function refusedAt<T>(pointer: string, work: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OptionError || isStoreError(error, "StoreRefusal"))
      return invalidField(pointer, error.message);
    throw error;
  }
}

const rulesAt = <G, R extends G & Rule>(path: string, name: string, words: string, rules: Rules<G, R>) => [
  route(`POST ${path}`, null, `add${name}`, `Add to the ${words}`, {
    bodyName: `${name}Create`,
    body: rules.schema,
    status: 201,
    view: plain(rules.schema.json),
    run: async ({ body }) => rules.add(body),
  }),
  route(`DELETE ${path}`, null, `clear${name}s`, `Remove all ${words}`, { run: async () => rules.clear() }),
];

const journal = (of: Service, name: "requests" | "events" | "deliveries", operation: string, summary: string) =>
  route(`GET /${name}`, null, operation, summary, {
    view: all,
    run: async () => ({ data: of[name], total: of[name].length }),
  });
