// The test controls (1.test-controls): the methods of the service handle over HTTP, for tests in any language. Only the
// start-up API key is accepted. It works while the account is suspended and after the key has been deleted.
import { AppError, appError, invalidField, notFound } from "../domain/errors.ts";
import { accountState } from "../domain/model.ts";
import { isStoreError, type StoreData } from "../domain/store.ts";
import { bearerToken } from "../http/access.ts";
import { type OperationDeps, runOperation } from "../http/api.ts";
import { CONTROL_PATH } from "../http/message.ts";
import { type HandlerContext, jsonSerializer, type Operation } from "../http/operation.ts";
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

/** `service` is undefined if the controls are off: every route then returns an error. */
export function createControlRouter(
  deps: OperationDeps,
  service: Service | undefined,
): Router<Operation> {
  return {
    basePath: CONTROL_PATH,
    routes: new RouteTable(service ? controlRoutes(service) : []),
    async handle(request, lookup) {
      if (service === undefined) return CONTROLS_OFF;
      const token = bearerToken(request.headers.authorization);
      if (token instanceof AppError) return token;
      const { apiKey, account } = service;
      // The time to compare hashes reveals nothing about the key.
      if (apiKey === null || sha256(token) !== sha256(apiKey)) return WRONG_KEY;
      if (lookup instanceof AppError) return lookup;
      return runOperation(deps, lookup, { account, scopes: [], credentialId: "" }, request);
    },
    onError: (error, request) => problemResponse(error, request.id, deps.routeDeps.urls),
  };
}

const CONTROLS_OFF = appError({
  code: "not_found",
  detail: "The test controls are off; start the server with --control.",
});

const WRONG_KEY = appError({
  code: "insufficient_scope",
  scope: "admin",
  detail: "The test controls accept only the start-up API key.",
});

const ANY_OBJECT = { type: "object", additionalProperties: true };

interface ControlOptions<Q, B> {
  readonly query?: ObjectSchema<Q>;
  readonly body?: Schema<B>;
  readonly bodyLimit?: number;
  /** Defaults to 200. A response with 204 has no body. */
  readonly status?: 201 | 204;
}

/** Returns a control route. An option that the handle rejects becomes a validation issue. */
const control = <Q = unknown, B = unknown>(
  method: RouteKey["method"],
  path: string,
  { body, ...options }: ControlOptions<Q, B>,
  call: (context: HandlerContext<Q, B>) => unknown,
): Operation => ({
  method,
  path,
  // Not in the OpenAPI document.
  operationId: "",
  summary: "",
  scope: null,
  status: 200,
  ...options,
  ...(options.status !== 204 && { serializer: jsonSerializer(ANY_OBJECT) }),
  ...(body && { body }),
  async handler(context: HandlerContext<Q, B>) {
    try {
      return await call(context);
    } catch (error) {
      if (error instanceof OptionError || isStoreError(error, "StoreOpenError"))
        return invalidField("#", error.message);
      throw error;
    }
  },
});

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
  control("POST", "/clock", { body: clockChange }, async ({ body }) => {
    const { clock } = service;
    if (body.freeze) clock.freeze();
    if (body.resume) clock.resume();
    const ran = body.advance === undefined ? [] : await clock.advance(body.advance);
    return { now: toIso(clock.now()), ran };
  }),
  control(
    "POST",
    "/settled",
    { query: object({ timeout: withDefault(duration, "5s") }) },
    ({ query }) => service.settled({ timeoutMs: parseDuration(query.timeout) }),
  ),
  control("POST", "/faults", { body: service.faults.schema, status: 201 }, ({ body }) =>
    service.faults.add(body),
  ),
  control("DELETE", "/faults", { status: 204 }, service.faults.clear),
  control("POST", "/chaos", { body: service.chaos.schema, status: 201 }, ({ body }) =>
    service.chaos.add(body),
  ),
  control("DELETE", "/chaos", { status: 204 }, service.chaos.clear),
  control("GET", "/requests", {}, () => toList(service.requests)),
  control("GET", "/events", {}, () => toList(service.events)),
  control("GET", "/deliveries", {}, () => toList(service.deliveries)),
  control(
    "GET",
    "/trace/{request_id}",
    {},
    ({ params }) => service.trace(params.request_id ?? "") ?? notFound("request in the journal"),
  ),
  control("POST", "/reset", { status: 204 }, service.reset),
  control("GET", "/snapshot", {}, service.snapshot),
  control(
    "PUT",
    "/snapshot",
    { body: snapshot, bodyLimit: SNAPSHOT_BYTES, status: 204 },
    ({ body }) => service.restore(body),
  ),
  control("PATCH", "/account", { body: object({ state: accountState }) }, ({ body }) =>
    service.setAccountState(body.state),
  ),
  control("POST", "/sign-in", { body: signInOptions }, ({ body }) => service.signIn(body)),
];
