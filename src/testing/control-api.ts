// The test controls (contract, part 10): the methods of the service handle over HTTP, for tests in any language. Only
// the start-up API key is accepted. It works while the account is suspended and after the key has been deleted. These
// requests do not count against the rate limit.
import { timingSafeEqual } from "node:crypto";
import { sha256 } from "../domain/credentials.ts";
import { AppError, fail, invalidField, notFound } from "../domain/errors.ts";
import { accountState, SCOPES, scope } from "../domain/model.ts";
import { isStoreError, type StoreData } from "../domain/store.ts";
import { bearerToken } from "../http/access.ts";
import { type OperationDeps, runOperation } from "../http/api.ts";
import { CONTROL_PATH } from "../http/message.ts";
import {
  accountSerializer,
  closedObject,
  jsonSerializer,
  type Operation,
  route,
  withDecision,
} from "../http/operation.ts";
import { problemResponse } from "../http/problem.ts";
import { type Result, type Router, RouteTable } from "../http/router.ts";
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

export function createControlRouter(deps: ControlDeps): Router<Operation> {
  const { service, services, warn } = deps;
  return {
    basePath: CONTROL_PATH,
    routes: new RouteTable(service ? controlRoutes(service) : []),
    async handle(request, lookup): Promise<Result> {
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
      if (lookup instanceof AppError) return lookup;
      const caller = { account, scopes: [], credential: CONTROL_PATH };
      return runOperation(deps, lookup, caller, request);
    },
    onError: (error, request) => problemResponse(error, request.id, services.urls),
  };
}

/** Takes the same time for every key. */
const isSameKey = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(sha256(one)), Buffer.from(sha256(other)));

/** Large enough for a snapshot of 100,000 apps. */
const SNAPSHOT_BYTES = 256 * 1024 * 1024;

const ANY_OBJECT: JsonSchema = { type: "object", additionalProperties: true };

const duration = text({
  max: 14,
  pattern: /^\d{1,12}(ms|s|m|h|d)$/,
  says: "a duration such as 250ms, 30s, 5m, 2h or 1d",
});

const onlyTrue = refine<boolean>({ const: true }, (value) =>
  value === true ? undefined : "must be true",
);
/** Validated when it is restored. */
const snapshot = refine<StoreData>(ANY_OBJECT, () => undefined);

const clockChange = object(
  { advance: optional(duration), freeze: optional(onlyTrue), resume: optional(onlyTrue) },
  (change) =>
    Object.keys(change).length === 1
      ? []
      : [{ path: [], detail: "must have one of advance, freeze and resume" }],
);
const clockBody = {
  ...clockChange,
  json: { ...clockChange.json, minProperties: 1, maxProperties: 1 },
};

const string: JsonSchema = { type: "string" };
const items: JsonSchema = { type: "array", items: ANY_OBJECT };
const journal = jsonSerializer(
  closedObject({ data: items, total: { type: "integer", minimum: 0 } }),
);
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
    route({
      method: "POST",
      path: "/clock",
      scope: null,
      operationId: "changeClock",
      summary: "Advance, freeze or resume the service's clock",
      status: 200,
      bodyName: "ClockChange",
      body: () => clockBody,
      serializer: jsonSerializer(closedObject({ now: string, ran })),
      handler: ({ body: { advance, freeze, resume } }) =>
        withOptionErrors("#/advance", async () => {
          const { clock } = service;
          if (freeze) clock.freeze();
          if (resume) clock.resume();
          const ran = advance === undefined ? [] : await clock.advance(advance);
          return { now: toIso(clock.now()), ran };
        }),
    }),
    route({
      method: "POST",
      path: "/settled",
      scope: null,
      operationId: "waitUntilSettled",
      summary: "Wait until every due delivery is attempted",
      status: 200,
      query: object({ timeout: withDefault(duration, "5s") }),
      serializer: jsonSerializer(closedObject({ settled: { type: "boolean" }, pending: items })),
      handler: ({ query }) => service.settled({ timeoutMs: parseDuration(query.timeout) }),
    }),
    ...ruleRoutes("/faults", "Fault", "fault of a request", service.faults),
    ...ruleRoutes("/chaos", "ChaosRule", "chaos rule for deliveries", service.chaos),
    journalRoute("requests", "listRecordedRequests", () => service.requests),
    journalRoute("events", "listRecordedEvents", () => service.events),
    journalRoute("deliveries", "listRecordedDeliveries", () => service.deliveries),
    route({
      method: "GET",
      path: "/trace/{request_id}",
      scope: null,
      operationId: "traceRequest",
      summary: "Trace a request to its deliveries",
      status: 200,
      serializer: jsonSerializer(closedObject({ request: ANY_OBJECT, events: items })),
      handler: async ({ params }) =>
        service.trace(params.request_id ?? "") ?? notFound("request in the journal"),
    }),
    route({
      method: "POST",
      path: "/reset",
      scope: null,
      operationId: "resetService",
      summary: "Reset the service to its seed",
      status: 204,
      handler: () => service.reset(),
    }),
    route({
      method: "GET",
      path: "/snapshot",
      scope: null,
      operationId: "createSnapshot",
      summary: "Create a snapshot of all data and the time",
      status: 200,
      serializer: jsonSerializer(snapshot.json),
      handler: () => service.snapshot(),
    }),
    route({
      method: "PUT",
      path: "/snapshot",
      scope: null,
      operationId: "restoreSnapshot",
      summary: "Restore a snapshot and its time",
      status: 204,
      bodyLimit: SNAPSHOT_BYTES,
      bodyName: "Snapshot",
      body: () => snapshot,
      handler: ({ body }) => withOptionErrors("#", () => service.restore(body)),
    }),
    route({
      method: "PATCH",
      path: "/account",
      scope: null,
      operationId: "setAccountState",
      summary: "Change the state of the account",
      status: 200,
      bodyName: "AccountStateUpdate",
      body: () => object({ state: accountState }),
      serializer: accountSerializer,
      handler: async ({ body }) => ({
        ...(await service.setAccountState(body.state)),
        user: null,
      }),
    }),
    route({
      method: "POST",
      path: "/sign-in",
      scope: null,
      operationId: "signInUser",
      summary: "Issue tokens to a user, by default an admin",
      status: 200,
      bodyName: "SignIn",
      body: () => signInBody,
      serializer: tokenResponse,
      handler: ({ body }) => withOptionErrors("#", () => service.signIn(body)),
    }),
  ]);

/** Maps an error thrown by the handle to a validation issue at `pointer`. */
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
) => [
  route({
    method: "POST",
    path,
    scope: null,
    operationId: `add${name}`,
    summary: `Add a ${label}`,
    bodyName: `${name}Create`,
    body: () => rules.schema,
    status: 201,
    serializer: jsonSerializer(rules.schema.json),
    handler: async ({ body }) => rules.add(body),
  }),
  route({
    method: "DELETE",
    path,
    scope: null,
    operationId: `clear${name}s`,
    summary: `Remove every ${label}`,
    status: 204,
    handler: async () => rules.clear(),
  }),
];

const journalRoute = (name: string, operationId: string, list: () => readonly object[]) =>
  route({
    method: "GET",
    path: `/${name}`,
    scope: null,
    operationId,
    summary: `List the recorded ${name}`,
    status: 200,
    serializer: journal,
    async handler() {
      const data = list();
      return { data, total: data.length };
    },
  });
