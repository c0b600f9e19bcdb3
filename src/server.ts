// Composition root: starts the service, from settings to a running server, read from top to bottom. A failed start
// releases everything, including the port and the file lock.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { checkUrl } from "./delivery/address-policy.ts";
import { createHttpSender } from "./delivery/sender.ts";
import { collections } from "./domain/collections.ts";
import { createApiKeyAuthenticator } from "./domain/credentials.ts";
import { findSiteByHost } from "./domain/deployments.ts";
import type { AppError } from "./domain/errors.ts";
import { createWebhookSchemas } from "./domain/model.ts";
import { type AuthorizationServer, verifyAccessToken } from "./domain/oauth/access-tokens.ts";
import { createSigningKeys } from "./domain/oauth/signing-keys.ts";
import type { Store } from "./domain/store.ts";
import { createDecide } from "./domain/variants.ts";
import { type ApiDeps, createApiRouter } from "./http/api.ts";
import { createAuthenticator } from "./http/authenticate.ts";
import { withCors } from "./http/cors.ts";
import type { Handler, HttpRequest, HttpResponse } from "./http/message.ts";
import { createOAuthRouter } from "./http/oauth-routes.ts";
import { problemResponse } from "./http/problem.ts";
import { createRateLimiter } from "./http/rate-limit.ts";
import { createRequestHandler, publicRouter, ROOT_ROUTES } from "./http/router.ts";
import { createResponseCache } from "./http/serializers.ts";
import { createHttpServer, type HttpServer } from "./http/server.ts";
import { createUrls, PATHS } from "./http/urls.ts";
import { AdjustableClock, type Instant, monotonicNow, parseIso, systemNow } from "./lib/clock.ts";
import { seededRandom, systemRandom, TimeOrderedIds } from "./lib/ids.ts";
import { OptionError } from "./lib/schema.ts";
import { TaskTracker } from "./lib/tasks.ts";
import { createLogger, type Log, type OutputStreams } from "./log.ts";
import {
  assertStore,
  formatHost,
  isDatabase,
  isLoopbackOnly,
  readSettings,
  type ServiceOptions,
  type Settings,
  webhookPolicyFor,
} from "./options.ts";
import { jsonFileStore } from "./store/json-file.ts";
import { memoryStore } from "./store/memory.ts";
import { controlDocument, createControlRouter } from "./testing/control-api.ts";
import { createChaos, createFaultInjector } from "./testing/disturbances.ts";
import { createRecorder } from "./testing/recorder.ts";
import { openService, type Service } from "./testing/service.ts";
import { createWorkers } from "./workers.ts";

/** Writes to this process's stdout and stderr. */
export const stdio: OutputStreams = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
};

/** The start time of a manual clock with a random seed, so that two runs give the same bytes. */
const SEEDED_START = "2026-01-01T00:00:00.000Z";
/** Margin of a row's lease beyond the longest attempt. */
const LEASE_SPARE_MS = 10_000;

/** Starts the service; resolves when it listens and is ready to use. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { port, log } = options;
  return startWithSettings(readSettings({ ...options, port: port ?? 0, log: log ?? "off" }), true);
}

/** Starts the service from parsed settings. If `embedded`, requests, events and deliveries are journaled for tests. */
export async function startWithSettings(
  settings: Settings,
  embedded: boolean,
  /** Shows warnings where there is no log. */
  warnWithoutLog?: (line: string) => void,
): Promise<Service> {
  const ground = await createDependencies(settings, embedded);
  const { log, unit, stop } = ground;
  const open = [
    settings.control && "--control",
    settings.webhookPolicy === "local" && "--webhook-policy local",
  ];
  const flags = open.filter(Boolean).join(" and ");
  await unit.store.open(collections);
  const service = await start(ground).catch(async (error) => {
    await stop();
    throw error;
  });
  // Warn without a log too, but only once the service has started.
  const warn = settings.log === "off" && warnWithoutLog ? warnWithoutLog : log.warn;
  if (flags && !isLoopbackOnly(settings))
    warn(`${flags}: meant for a server that only this machine reaches; others reach this one.`);
  return service;
}

type Dependencies = Awaited<ReturnType<typeof createDependencies>>;

/** Creates everything that exists before anything is opened. */
async function createDependencies(settings: Settings, watched: boolean) {
  const { randomSeed, webhookTimeout: timeout_ms } = settings;
  const clock = new AdjustableClock(settings.clock === "manual" ? startOf(settings) : undefined);
  const log = createLogger(settings.log, clock, stdio);
  const store = await createStore(settings, log);
  const ids = new TimeOrderedIds(
    clock,
    randomSeed === null ? systemRandom : seededRandom(randomSeed),
  );
  const unit = { store, clock, ids, decide: createDecide(settings.readings) };
  const journals = createRecorder(clock);
  const tasks = new TaskTracker(log.error);
  const [faults, chaos] = [
    createFaultInjector(unit, journals.annotate, tasks),
    createChaos(unit, journals.marks, tasks),
  ];
  const sender = createHttpSender({ policy: webhookPolicyFor(settings), timeout_ms });
  const workers = createWorkers({
    sender: chaos.wrap(sender),
    retryWaits_ms: settings.retrySchedule,
    // Runs with one seed send the same bytes; otherwise stock verifiers compare the timestamp with their own clock.
    timestamp: () => (randomSeed === null ? systemNow() : clock.now()),
    concurrency: settings.webhookConcurrency ?? unit.decide("6.webhook-concurrency"),
    lease_ms: timeout_ms + LEASE_SPARE_MS,
    onAttempt({ deliveryId: id, type, url, attempt: made }) {
      const { number: attempt, duration_ms, response_status, error, error_detail } = made;
      log.delivery({
        id,
        type,
        url,
        outcome: String(response_status ?? error),
        duration_ms,
        attempt,
        error_detail,
      });
    },
    ...{ tasks, onError: log.error, ...unit },
  });
  const listener = createListener(settings);
  const stop = async () => {
    await listener.stop();
    await workers.stop();
    clock.close();
    await store.close();
  };
  return {
    settings,
    watched,
    log,
    unit,
    tasks,
    journals,
    workers,
    faults,
    chaos,
    listener,
    stop,
  };
}

/** Returns the start time of a manual clock: the real time, so that stock verifiers accept its signatures. */
function startOf({ startAt, randomSeed }: Settings): Instant {
  if (startAt !== null) return parseIso(startAt);
  return randomSeed === null ? systemNow() : parseIso(SEEDED_START);
}

async function createStore({ store, data }: Settings, { warn }: Log): Promise<Store> {
  if (typeof store === "string") return loadStoreModule(store);
  if (data !== null && isDatabase(data))
    return (await import("./postgres/store.ts")).postgresStore(data);
  return store ?? (data === null ? memoryStore() : jsonFileStore(data, { warn }));
}

/** Loads a third-party store module: a file or an installed package. */
async function loadStoreModule(name: string): Promise<Store> {
  const isFile = isAbsolute(name) || /^\.|\.[cm]?[jt]s$/.test(name);
  let why: unknown = "it exports neither";
  try {
    const { default: main, store = main } = await import(
      isFile ? pathToFileURL(resolve(name)).href : name
    );
    const made = typeof store === "function" ? await store() : store;
    if (typeof made === "object") return assertStore(made);
  } catch (error) {
    why = error;
  }
  const must =
    "must be a file or an installed package whose export `store`, or else its default, is a Store or makes one";
  throw new OptionError(
    `store (--store, APPHOST_STORE) ${must}; it is ${JSON.stringify(name)} (${why})`,
  );
}

/** Listens, loads the seed or existing data, and starts to serve. */
async function start(ground: Dependencies): Promise<Service> {
  const { settings, watched, log, unit, tasks, journals, listener } = ground;
  const { store, clock, ids, decide } = unit;
  // Listen first: if the port is in use, no key is created that nobody would see.
  const port = await listener.listen(settings.port, settings.host);
  const urls = createUrls(settings.publicUrl ?? localUrl(settings, port));
  if (watched) journals.subscribe(store, tasks);

  const keys = createSigningKeys(store, settings.tokenAlg);
  const oauth = {
    keys,
    issuer: urls.authUrl,
    audience: urls.baseUrl,
    verified: new Map(),
    ...unit,
  };
  const deps = {
    services: {
      urls,
      decide,
      webhook: createWebhookSchemas((url) => checkUrl(url, webhookPolicyFor(settings))),
    },
    responseCache: createResponseCache(urls, decide),
    authenticate: createAuthenticator(createApiKeyAuthenticator(unit, tasks), (token) =>
      verifyAccessToken(oauth, token),
    ),
    limiter: createRateLimiter(clock, settings.rateLimit, store.now && store),
    ...{ port, oauth, ...ground },
  };
  const service = await openService(deps);
  const answering = withCors(composeHandler(deps, service), isLoopbackOnly(settings));
  const handle = settings.log === "off" ? answering : withLogging(answering, log);
  listener.setHandler({
    handle: watched ? journals.around(handle) : handle,
    ids,
    urls,
    onError: log.error,
  });
  return service;
}

/** Logs each request with its response status; 0 if there is no response. */
const withLogging =
  (handle: Handler, { request }: Log): Handler =>
  async (call) => {
    const started = monotonicNow();
    const response = await handle(call);
    const { id, method, path } = call;
    request({ id, method, path, status: response.status, duration_ms: monotonicNow() - started });
    return response;
  };

/** Composes all routers; pages are loaded on first use. */
function composeHandler(
  deps: Dependencies & ApiDeps & { readonly oauth: AuthorizationServer },
  service: Service,
): Handler {
  const { settings, log, unit } = deps;
  const { urls: links } = deps.services;
  const api = createApiRouter(deps);
  const control = createControlRouter(deps, settings.control ? service : undefined, log.warn);
  const description = controlDocument(control.routes.routes, deps.services);
  let nowhere: (request: HttpRequest, error: AppError) => HttpResponse | undefined = () =>
    undefined;
  return createRequestHandler({
    // Also handles unknown paths; a browser gets a page.
    fallback: publicRouter(ROOT_ROUTES, (error, call) => {
      const page = error.details.code === "not_found" ? nowhere(call, error) : undefined;
      return page ?? problemResponse(error, call.id, links);
    }),
    routers: [
      api,
      createOAuthRouter(deps.oauth, links),
      control,
      ...(settings.control ? [description] : []),
    ],
    async lazyRouters() {
      const { notFoundPage, createPageRouters } = await import("./web/routes.ts");
      nowhere = notFoundPage;
      const more = {
        operations: api.routes.routes,
        retryWaits_ms: settings.retrySchedule,
      };
      const isLocal = isLoopbackOnly(settings);
      return createPageRouters({ ...deps, ...more, isLocal }, settings.control);
    },
    async findSitePath(host) {
      const site = await findSiteByHost(unit.store, host);
      return site && `${PATHS.sites}/${site.deployment.id}`;
    },
    onError: log.error,
  });
}

function localUrl({ tlsCert, host }: Settings, port: number): string {
  const shown = ["0.0.0.0", "::"].includes(host) ? "localhost" : host;
  return `${tlsCert === null ? "http" : "https"}://${formatHost(shown)}:${port}`;
}

function createListener({ tlsCert: cert, tlsKey: key }: Settings): HttpServer {
  if (cert === null || key === null) return createHttpServer();
  try {
    // TLS ignores a key of another type than the certificate's, and no client could ever connect.
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      throw new Error("they are not a pair");
    return createHttpServer({ cert, key });
  } catch (error) {
    const names =
      "tlsCert and tlsKey (--tls-cert and --tls-key, APPHOST_TLS_CERT and APPHOST_TLS_KEY)";
    throw new OptionError(`${names} must be a certificate and its private key (PEM): ${error}`);
  }
}
