// The test controls (contract, part 10): the methods of the service handle over HTTP, for tests in any language. Only
// the start-up API key is accepted. It works while the account is suspended and after the key has been deleted. These
// requests do not count against the rate limit. An operation that cannot be done returns an error.
import { timingSafeEqual } from "node:crypto";
import { type Caller, sha256 } from "../domain/credentials.ts";
import { AppError, fail, invalidField, notFound } from "../domain/errors.ts";
import { accountState, SCOPES, scope } from "../domain/model.ts";
import { isStoreError, type StoreData } from "../domain/store.ts";
import { handleOperation, type OperationDeps } from "../http/api.ts";
import { bearerToken } from "../http/authenticate.ts";
import { jsonResponse } from "../http/message.ts";
import { problemResponse } from "../http/problem.ts";
import { type AppContext, type Operation, route, withDecision } from "../http/route.ts";
import { getRoute, publicRouter, type Router, RouteTable } from "../http/router.ts";
import { accountSerializer, closedObject, jsonSerializer } from "../http/serializers.ts";
import { CONTROL_PATH } from "../http/urls.ts";
import { parseDuration, toIso } from "../lib/clock.ts";
import {
  array,
  type JsonSchema,
  OptionError,
  object,
  optional,
  refine,
  text,
  withDefault,
} from "../lib/schema.ts";
import type { Rule, Rules } from "./disturbances.ts";
import type { Service } from "./service.ts";

const OFF = "The test controls are off; start the server with --control.";

/** Without a `service` the controls are off: every route returns an error and the console prints a warning. */
export const createControlRouter = (
  deps: OperationDeps,
  service: Service | undefined,
  warn: (line: string) => void,
): Router<Operation, Caller> => ({
  basePath: CONTROL_PATH,
  routes: new RouteTable(service ? controlRoutes(service) : []),
  async authenticate(call) {
    if (service === undefined) {
      warn(OFF);
      return fail({ code: "not_found", detail: OFF });
    }
    const token = bearerToken(call.header("authorization"));
    if (token instanceof AppError) return token;
    const { apiKey, account } = service;
    if (apiKey !== null && timingSafeEqual(Buffer.from(sha256(token)), Buffer.from(sha256(apiKey))))
      return { who: { account, scopes: [], credential: CONTROL_PATH } };
    const detail = "The test controls take the start-up API key and no other credential.";
    return fail({ code: "insufficient_scope", scope: "admin", detail });
  },
  handle: (row, request) => handleOperation(deps, row, request),
  onError: (error, call) => problemResponse(error, call.id, deps.services.urls),
});

/** The OpenAPI document of the test controls. It needs no credential, so that generators can load it. */
export const controlDocument = (operations: readonly Operation[], services: AppContext): Router =>
  publicRouter(
    [
      getRoute(`${CONTROL_PATH}/openapi.json`, async () => {
        const { createControlDocument } = await import("../http/openapi.ts");
        return jsonResponse(200, createControlDocument({ routes: operations, services }));
      }),
    ],
    (error, request) => problemResponse(error, request.id, services.urls),
  );

/** Large enough for a snapshot of 100,000 apps. */
const SNAPSHOT_BYTES = 256 * 1024 * 1024;

const ANY_OBJECT: JsonSchema = { type: "object", additionalProperties: true };

const time = text({
  max: 14,
  pattern: /^\d{1,12}(ms|s|m|h|d)$/,
  says: "a duration such as 250ms, 30s, 5m, 2h or 1d",
});

const yes = refine<boolean>({ const: true }, "true", (value) => value === true);
/** Validated when it is restored. */
const snapshot = refine<StoreData>(ANY_OBJECT, "a snapshot", () => true);

const clockCommand = object(
  { advance: optional(time), freeze: optional(yes), resume: optional(yes) },
  (asked) =>
    Object.keys(asked).length === 1
      ? []
      : [{ path: [], detail: "must have one of advance, freeze and resume" }],
);
const clockBody = {
  ...clockCommand,
  json: { ...clockCommand.json, minProperties: 1, maxProperties: 1 },
};

const string: JsonSchema = { type: "string" };
const items: JsonSchema = { type: "array", items: ANY_OBJECT };
const all = jsonSerializer(closedObject({ data: items, total: { type: "integer", minimum: 0 } }));
const ran: JsonSchema = { type: "array", items: closedObject({ at: string, what: string }) };

const signInBody = object({
  scopes: array(scope, { min: 1, max: SCOPES.length, distinct: true }),
  userId: optional(text({ min: 1, max: 200 })),
});
const tokenResponse = jsonSerializer(
  closedObject({
    access_token: string,
    token_type: string,
    expires_in: { type: "integer", description: "Seconds." },
    refresh_token: string,
    scope: string,
  }),
);

const controlRoutes = (service: Service): readonly Operation[] =>
  withDecision("1.test-controls", [
    route("POST /clock", null, "changeClock", "Advance, freeze or resume the service's clock", {
      bodyName: "ClockChange",
      body: clockBody,
      serializer: jsonSerializer(closedObject({ now: string, ran })),
      handler: ({ body: { advance, freeze, resume } }) =>
        mapOptionError("#/advance", async () => {
          const { clock } = service;
          if (freeze) clock.freeze();
          if (resume) clock.resume();
          const ran = advance === undefined ? [] : await clock.advance(advance);
          return { now: toIso(clock.now()), ran };
        }),
    }),
    route(
      "POST /settled",
      null,
      "waitUntilSettled",
      "Wait until every delivery that is due has been attempted",
      {
        query: object({ timeout: withDefault(time, "5s") }),
        serializer: jsonSerializer(closedObject({ settled: { type: "boolean" }, pending: items })),
        handler: ({ query }) => service.settled({ timeoutMs: parseDuration(query.timeout) }),
      },
    ),
    ...ruleRoutes("/faults", "Fault", "faults: rules that make requests fail", service.faults),
    ...ruleRoutes("/chaos", "ChaosRule", "chaos rules, which disturb deliveries", service.chaos),
    journal(service, "requests", "listRecordedRequests", "What came in"),
    journal(service, "events", "listRecordedEvents", "What was emitted"),
    journal(service, "deliveries", "listRecordedDeliveries", "What was sent, and is to be"),
    route("GET /trace/{request_id}", null, "traceRequest", "What a request has led to", {
      serializer: jsonSerializer(closedObject({ request: ANY_OBJECT, events: items })),
      handler: async ({ params }) =>
        service.trace(params.request_id) ?? notFound("request in the journal"),
    }),
    route("POST /reset", null, "resetService", "Reset the service to its seed", {
      handler: () => service.reset(),
    }),
    route(
      "GET /snapshot",
      null,
      "createSnapshot",
      "Create a snapshot of all data and of the time",
      {
        serializer: jsonSerializer(snapshot.json),
        handler: () => service.snapshot(),
      },
    ),
    route("PUT /snapshot", null, "restoreSnapshot", "Restore a snapshot and its time", {
      bodyLimit: SNAPSHOT_BYTES,
      bodyName: "Snapshot",
      body: snapshot,
      handler: ({ body }) => mapOptionError("#", () => service.restore(body)),
    }),
    route(
      "PATCH /account",
      null,
      "setAccountState",
      "Suspend or limit the account, or make it active again",
      {
        bodyName: "AccountStateUpdate",
        body: object({ state: accountState }),
        serializer: accountSerializer,
        handler: async ({ body }) => ({
          ...(await service.setAccountState(body.state)),
          user: null,
        }),
      },
    ),
    route(
      "POST /sign-in",
      null,
      "signInUser",
      "Issue tokens to a user, by default the account's first admin",
      {
        bodyName: "SignIn",
        body: signInBody,
        serializer: tokenResponse,
        handler: ({ body }) => mapOptionError("#", () => service.signIn(body)),
      },
    ),
  ]);

/** Maps an error thrown by the handle to a validation issue at `pointer`. */
async function mapOptionError<T>(pointer: string, work: () => Promise<T>): Promise<T | AppError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OptionError || isStoreError(error, "StoreOpenError"))
      return invalidField(pointer, error.message);
    throw error;
  }
}

const ruleRoutes = <G, R extends G & Rule>(
  path: string,
  name: string,
  words: string,
  rules: Rules<G, R>,
) => [
  route(`POST ${path}`, null, `add${name}`, `Add to the ${words}`, {
    bodyName: `${name}Create`,
    body: rules.schema,
    status: 201,
    serializer: jsonSerializer(rules.schema.json),
    handler: async ({ body }) => rules.add(body),
  }),
  route(`DELETE ${path}`, null, `clear${name}s`, `Remove all ${words}`, {
    handler: async () => rules.clear(),
  }),
];

const journal = (
  of: Service,
  name: "requests" | "events" | "deliveries",
  operation: string,
  summary: string,
) =>
  route(`GET /${name}`, null, operation, summary, {
    serializer: all,
    handler: async () => ({ data: of[name], total: of[name].length }),
  });
