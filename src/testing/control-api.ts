// The test controls (1.test-controls): the methods of the service handle over HTTP, for tests in any language. Only the
// start-up API key is accepted. It works while the account is suspended and after the key has been deleted.
import { AppError, appError, invalidField, notFound } from "../domain/errors.ts";
import { accountState } from "../domain/model.ts";
import { isStoreError, type StoreData } from "../domain/store.ts";
import { bearerToken } from "../http/access.ts";
import { type OperationDeps, runOperation } from "../http/api.ts";
import { CONTROL_PATH } from "../http/message.ts";
import type { HandlerContext, Operation } from "../http/operation.ts";
import { jsonSerializer } from "../http/operation.ts";
import { problemResponse } from "../http/problem.ts";
import { type RouteKey, type Router, RouteTable } from "../http/router.ts";
import { DURATION_EXAMPLES, parseDuration, toIso } from "../lib/clock.ts";
import { sha256 } from "../lib/ids.ts";
import {
  custom,
  type ObjectSchema,
  OptionError,
  object,
  optional,
  type Schema,
  withDefault,
} from "../lib/schema.ts";
import { type Service, signInOptions } from "./service.ts";

interface ControlDeps extends OperationDeps {
  /** Undefined if the controls are off: every route then returns an error. */
  readonly service: Service | undefined;
}

export function createControlRouter(deps: ControlDeps): Router<Operation> {
  const { service, routeDeps } = deps;
  const routes = service ? controlRoutes(service) : [];
  return {
    basePath: CONTROL_PATH,
    routes: new RouteTable(routes),
    async handle(request, lookup) {
      if (service === undefined)
        return appError({
          code: "not_found",
          detail: "The test controls are off; start the server with --control.",
        });
      const token = bearerToken(request.headers.authorization);
      if (token instanceof AppError) return token;
      const { apiKey, account } = service;
      // The time to compare hashes reveals nothing about the key.
      if (apiKey === null || sha256(token) !== sha256(apiKey))
        return appError({
          code: "insufficient_scope",
          scope: "admin",
          detail: "The test controls accept only the start-up API key.",
        });
      if (lookup instanceof AppError) return lookup;
      return runOperation(deps, lookup, { account, scopes: [], credentialId: "" }, request);
    },
    onError: (error, request) => problemResponse(error, request.id, routeDeps.urls),
  };
}

const ANY_OBJECT = { type: "object", additionalProperties: true };

interface ControlOptions<Q, B> {
  readonly query?: ObjectSchema<Q>;
  readonly body?: Schema<B>;
  readonly bodyLimit?: number;
  /** Defaults to 200. A response with 204 has no body. */
  readonly status?: 201 | 204;
}

/** Returns a control route. An option that the handle rejects becomes a validation issue. */
function control<Q = unknown, B = unknown>(
  method: RouteKey["method"],
  path: string,
  operationId: string,
  summary: string,
  call: (context: HandlerContext<Q, B>) => unknown,
  { body, status, ...options }: ControlOptions<Q, B> = {},
): Operation {
  return {
    ...options,
    method,
    path,
    operationId,
    summary,
    status: status ?? 200,
    scope: null,
    decision: "1.test-controls",
    ...(body && { body: () => body, bodyName: `${operationId}Body` }),
    ...(status !== 204 && { serializer: jsonSerializer(ANY_OBJECT) }),
    async handler(context: HandlerContext<Q, B>) {
      try {
        return await call(context);
      } catch (error) {
        if (error instanceof OptionError || isStoreError(error, "StoreOpenError"))
          return invalidField("#", error.message);
        throw error;
      }
    },
  };
}

/** Large enough for a snapshot of 100,000 apps. */
const SNAPSHOT_BYTES = 256 * 1024 * 1024;

const duration = custom<string>({ type: "string" }, (value) =>
  parseDuration(String(value)) === undefined
    ? `must be a duration such as ${DURATION_EXAMPLES}`
    : undefined,
);
const onlyTrue = custom<true>({ const: true }, (value) =>
  value === true ? undefined : "must be true",
);
const clockChange = object(
  { advance: optional(duration), freeze: optional(onlyTrue), resume: optional(onlyTrue) },
  function* (change) {
    if (Object.keys(change).length !== 1)
      yield { path: [], detail: "must have advance, freeze or resume, and only one of them" };
  },
);
/** Validated when it is restored. */
const snapshot = custom<StoreData>(ANY_OBJECT, () => undefined);

const toList = (data: readonly object[]) => ({ data, total: data.length });

const controlRoutes = (service: Service): readonly Operation[] => [
  control(
    "POST",
    "/clock",
    "changeClock",
    "Advance, freeze or resume the service's clock",
    async ({ body: { advance, freeze, resume } }) => {
      const { clock } = service;
      if (freeze) clock.freeze();
      if (resume) clock.resume();
      const ran = advance === undefined ? [] : await clock.advance(advance);
      return { now: toIso(clock.now()), ran };
    },
    { body: clockChange },
  ),
  control(
    "POST",
    "/settled",
    "waitUntilSettled",
    "Wait until every due delivery is attempted",
    ({ query }) => service.settled({ timeoutMs: parseDuration(query.timeout) }),
    { query: object({ timeout: withDefault(duration, "5s") }) },
  ),
  control(
    "POST",
    "/faults",
    "addFault",
    "Add a fault of requests",
    ({ body }) => service.faults.add(body),
    { status: 201, body: service.faults.schema },
  ),
  control("DELETE", "/faults", "clearFaults", "Remove every fault", () => service.faults.clear(), {
    status: 204,
  }),
  control(
    "POST",
    "/chaos",
    "addChaosRule",
    "Add a chaos rule for deliveries",
    ({ body }) => service.chaos.add(body),
    { status: 201, body: service.chaos.schema },
  ),
  control(
    "DELETE",
    "/chaos",
    "clearChaosRules",
    "Remove every chaos rule",
    () => service.chaos.clear(),
    { status: 204 },
  ),
  control("GET", "/requests", "listRecordedRequests", "List the recorded requests", () =>
    toList(service.requests),
  ),
  control("GET", "/events", "listRecordedEvents", "List the recorded events", () =>
    toList(service.events),
  ),
  control("GET", "/deliveries", "listRecordedDeliveries", "List the recorded deliveries", () =>
    toList(service.deliveries),
  ),
  control(
    "GET",
    "/trace/{request_id}",
    "traceRequest",
    "Trace a request to its deliveries",
    ({ params }) => service.trace(params.request_id ?? "") ?? notFound("request in the journal"),
  ),
  control(
    "POST",
    "/reset",
    "resetService",
    "Reset the service to its seed",
    () => service.reset(),
    { status: 204 },
  ),
  control("GET", "/snapshot", "createSnapshot", "Create a snapshot of all data and the time", () =>
    service.snapshot(),
  ),
  control(
    "PUT",
    "/snapshot",
    "restoreSnapshot",
    "Restore a snapshot and its time",
    ({ body }) => service.restore(body),
    { status: 204, body: snapshot, bodyLimit: SNAPSHOT_BYTES },
  ),
  control(
    "PATCH",
    "/account",
    "setAccountState",
    "Change the state of the account",
    ({ body }) => service.setAccountState(body.state),
    { body: object({ state: accountState }) },
  ),
  control(
    "POST",
    "/sign-in",
    "signInUser",
    "Issue tokens to a user, by default an admin",
    ({ body }) => service.signIn(body),
    { body: signInOptions },
  ),
];
