// The test controls (contract, part 10): the methods of the service handle over HTTP, for tests in any language. Only
// the start-up API key is accepted. It works while the account is suspended and after the key has been deleted. These
// requests do not count against the rate limit.
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
import type { Rule, Rules } from "./rules.ts";
import type { Service } from "./service.ts";

const OFF = "The test controls are off; start the server with --control.";

export interface ControlDeps extends OperationDeps {
  /** Undefined if the controls are off: every route then returns an error and the log a warning. */
  readonly service: Service | undefined;
  readonly warn: (message: string) => void;
}

export function createControlRouter(deps: ControlDeps): Router<Operation, Caller> {
  const { service, services, warn } = deps;
  return {
    basePath: CONTROL_PATH,
    routes: new RouteTable(service ? controlRoutes(service) : []),
    async authenticate(request) {
      if (service === undefined) {
        warn(OFF);
        return fail({ code: "not_found", detail: OFF });
      }
      const token = bearerToken(request.header("authorization"));
      if (token instanceof AppError) return token;
      const { apiKey, account } = service;
      if (apiKey === null || !isSameKey(token, apiKey))
        return fail({
          code: "insufficient_scope",
          scope: "admin",
          detail: "The test controls take the start-up API key and no other credential.",
        });
      return { who: { account, scopes: [], credential: CONTROL_PATH } };
    },
    handle: (operation, request) => handleOperation(deps, operation, request),
    onError: (error, request) => problemResponse(error, request.id, services.urls),
  };
}

/** Takes the same time for every key. */
const isSameKey = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(sha256(one)), Buffer.from(sha256(other)));

/** The OpenAPI document of the test controls. It needs no credential, so that generators can load it. */
export const controlDocument = (operations: readonly Operation[], services: AppContext): Router =>
  publicRouter(
    [
      getRoute(`${CONTROL_PATH}/openapi.json`, async () => {
        const { createControlDocument } = await import("../http/openapi.ts");
        return jsonResponse(200, createControlDocument(operations, services));
      }),
    ],
    (error, request) => problemResponse(error, request.id, services.urls),
  );

/** Large enough for a snapshot of 100,000 apps. */
const SNAPSHOT_BYTES = 256 * 1024 * 1024;

const duration = text({
  max: 14,
  pattern: /^\d{1,12}(ms|s|m|h|d)$/,
  says: "a duration such as 250ms, 30s, 5m, 2h or 1d",
});

const onlyTrue = refine<boolean>({ const: true }, "true", (value) => value === true);

const clockChange = object(
  {
    advance: optional(duration),
    freeze: optional(onlyTrue),
    resume: optional(onlyTrue),
  },
  function* (change) {
    if (Object.keys(change).length !== 1)
      yield { path: [], detail: "must have one of advance, freeze and resume" };
  },
);

const signIn = object({
  scopes: array(scope, { min: 1, max: SCOPES.length, distinct: true }),
  userId: optional(text({ min: 1, max: 200 })),
});

const anyObject: JsonSchema = { type: "object", additionalProperties: true };
const anyObjects: JsonSchema = { type: "array", items: anyObject };
const string: JsonSchema = { type: "string" };

/** `restore` validates its content. */
const snapshot = refine<StoreData>(anyObject, "a snapshot", () => true);

const firedTimers: JsonSchema = {
  type: "array",
  items: closedObject({ at: string, what: string }),
};

const tokens = closedObject({
  access_token: string,
  token_type: string,
  expires_in: { type: "integer", description: "Seconds." },
  refresh_token: string,
  scope: string,
});

const controlRoutes = (service: Service): readonly Operation[] =>
  withDecision("1.test-controls", [
    route("POST /clock", null, "changeClock", "Advance, freeze or resume the service's clock", {
      bodyName: "ClockChange",
      body: {
        ...clockChange,
        json: { ...clockChange.json, minProperties: 1, maxProperties: 1 },
      },
      serializer: jsonSerializer(closedObject({ now: string, ran: firedTimers })),
      handler: ({ body: { advance, freeze, resume } }) =>
        withOptionErrors("#/advance", async () => {
          const { clock } = service;
          if (freeze) clock.freeze();
          if (resume) clock.resume();
          const ran = advance === undefined ? [] : await clock.advance(advance);
          return { now: toIso(clock.now()), ran };
        }),
    }),
    route("POST /settled", null, "waitUntilSettled", "Wait until every due delivery is attempted", {
      query: object({ timeout: withDefault(duration, "5s") }),
      serializer: jsonSerializer(
        closedObject({ settled: { type: "boolean" }, pending: anyObjects }),
      ),
      handler: ({ query }) => service.settled({ timeoutMs: parseDuration(query.timeout) }),
    }),
    ...ruleRoutes("/faults", "Fault", "fault of a request", service.faults),
    ...ruleRoutes("/chaos", "ChaosRule", "chaos rule for deliveries", service.chaos),
    journalRoute("requests", "listRecordedRequests", () => service.requests),
    journalRoute("events", "listRecordedEvents", () => service.events),
    journalRoute("deliveries", "listRecordedDeliveries", () => service.deliveries),
    route("GET /trace/{request_id}", null, "traceRequest", "Trace a request to its deliveries", {
      serializer: jsonSerializer(closedObject({ request: anyObject, events: anyObjects })),
      handler: async ({ params }) =>
        service.trace(params.request_id) ?? notFound("request in the journal"),
    }),
    route("POST /reset", null, "resetService", "Reset the service to its seed", {
      handler: () => service.reset(),
    }),
    route("GET /snapshot", null, "createSnapshot", "Create a snapshot of all data and the time", {
      serializer: jsonSerializer(snapshot.json),
      handler: () => service.snapshot(),
    }),
    route("PUT /snapshot", null, "restoreSnapshot", "Restore a snapshot and its time", {
      bodyLimit: SNAPSHOT_BYTES,
      bodyName: "Snapshot",
      body: snapshot,
      handler: ({ body }) => withOptionErrors("#", () => service.restore(body)),
    }),
    route("PATCH /account", null, "setAccountState", "Change the state of the account", {
      bodyName: "AccountStateUpdate",
      body: object({ state: accountState }),
      serializer: accountSerializer,
      handler: async ({ body }) => ({
        ...(await service.setAccountState(body.state)),
        user: null,
      }),
    }),
    route("POST /sign-in", null, "signInUser", "Issue tokens to a user, by default an admin", {
      bodyName: "SignIn",
      body: signIn,
      serializer: jsonSerializer(tokens),
      handler: ({ body }) => withOptionErrors("#", () => service.signIn(body)),
    }),
  ]);

/** Returns an option error of the handle as a validation error at `pointer`. */
async function withOptionErrors<T>(pointer: string, work: () => Promise<T>): Promise<T | AppError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OptionError || isStoreError(error, "StoreOpenError"))
      return invalidField(pointer, error.message);
    throw error;
  }
}

const ruleRoutes = <Input, R extends Input & Rule>(
  path: string,
  name: string,
  label: string,
  rules: Rules<Input, R>,
): Operation[] => [
  route(`POST ${path}`, null, `add${name}`, `Add a ${label}`, {
    bodyName: `${name}Create`,
    body: rules.schema,
    status: 201,
    serializer: jsonSerializer(rules.schema.json),
    handler: async ({ body }) => rules.add(body),
  }),
  route(`DELETE ${path}`, null, `clear${name}s`, `Remove every ${label}`, {
    handler: async () => rules.clear(),
  }),
];

const journalRoute = (name: string, operationId: string, list: () => readonly object[]) =>
  route(`GET /${name}`, null, operationId, `List the recorded ${name}`, {
    serializer: jsonSerializer(
      closedObject({ data: anyObjects, total: { type: "integer", minimum: 0 } }),
    ),
    async handler() {
      const data = list();
      return { data, total: data.length };
    },
  });
