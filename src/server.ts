// Composition root: starts the service, from settings to a running server, read from top to bottom. A failed start
// releases everything, including the port and the file lock.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { checkUrl } from "./delivery/address-policy.ts";
import { createHttpSender } from "./delivery/sender.ts";
import { findSiteByHost } from "./domain/apps.ts";
import { collections } from "./domain/collections.ts";
import { createApiKeyAuthenticator } from "./domain/credentials.ts";
import { verifyAccessToken } from "./domain/oauth/access.ts";
import type { Store } from "./domain/store.ts";
import { createNotifications } from "./domain/unit-of-work.ts";
import { createAuthenticator, createRateLimiter, withCors } from "./http/access.ts";
import { API_ROUTES, createApiRouter } from "./http/api.ts";
import { createUrls, PATHS } from "./http/message.ts";
import { createOAuthRouter } from "./http/oauth-routes.ts";
import { TextCache } from "./http/operation.ts";
import { problemResponse } from "./http/problem.ts";
import { createRequestHandler, publicRouter, ROOT_ROUTES } from "./http/router.ts";
import { createHttpServer } from "./http/server.ts";
import { applyVariants, withVariants } from "./http/variants.ts";
import { AdjustableClock, parseIso, systemNow } from "./lib/clock.ts";
import { seededRandom, systemRandom, TimeOrderedIds } from "./lib/ids.ts";
import { toUrlHost } from "./lib/loopback.ts";
import { OptionError } from "./lib/schema.ts";
import { TaskTracker } from "./lib/tasks.ts";
import { createLogger } from "./log.ts";
import {
  assertStore,
  isLoopbackOnly,
  readOptions,
  type ServiceOptions,
  type Settings,
  serverOptions,
} from "./options.ts";
import { jsonFileStore } from "./store/json-file.ts";
import { memoryStore } from "./store/memory.ts";
import { createControlRouter } from "./testing/control-api.ts";
import { createChaos, createFaults } from "./testing/faults.ts";
import { createRecorder } from "./testing/recorder.ts";
import { openService, type Service } from "./testing/service.ts";
import { createState } from "./testing/state.ts";
import { createWorkers } from "./workers.ts";

/** Starts the service; resolves when it listens and is ready to use. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { port = 0, log = "off" } = options;
  return startWithSettings(readOptions(serverOptions, { ...options, port, log }), true);
}

/** The start of a manual clock with a random seed, so that two runs give the same bytes. */
const SEEDED_START = parseIso("2026-01-01T00:00:00.000Z");

/** `hasTestControls`: tests use the service handle, or the same over HTTP. */
export async function startWithSettings(
  settings: Settings,
  hasTestControls: boolean,
): Promise<Service> {
  const { randomSeed, tlsCert, tlsKey } = settings;
  const isLocal = isLoopbackOnly(settings);
  // A server that only this machine can reach may deliver to this machine.
  const webhookPolicy = settings.webhookPolicy ?? (isLocal ? "local" : "strict");
  // A manual clock starts at the real time, so that stock verifiers accept what it signs.
  const startAt = settings.startAt ?? (randomSeed === null ? systemNow() : SEEDED_START);
  const clock = new AdjustableClock(settings.clock === "manual" ? startAt : undefined);
  const log = createLogger(settings.log, clock);
  const store = await createStore(settings, log.warn);
  const ids = new TimeOrderedIds(
    clock,
    randomSeed === null ? systemRandom : seededRandom(randomSeed),
  );
  const notifications = createNotifications();
  const unitOfWorkDeps = { store, clock, ids, notifications };
  const tasks = new TaskTracker(log.error);
  const recorder = createRecorder({ ...unitOfWorkDeps, tasks, onError: log.error });
  const faults = createFaults({ clock, tasks, annotate: recorder.annotate });
  const chaos = createChaos({ unitOfWorkDeps, effects: recorder.effects });
  const workers = createWorkers({
    ...unitOfWorkDeps,
    tasks,
    sender: chaos.wrap(
      createHttpSender({ policy: webhookPolicy, timeout_ms: settings.webhookTimeout }),
    ),
    retryWaits_ms: settings.retrySchedule,
    // Runs with one seed send the same bytes; otherwise stock verifiers compare the timestamp with their own clock.
    timestamp: randomSeed === null ? systemNow : () => clock.now(),
    onAttempt: log.delivery,
  });
  const server = createHttpServer(tlsCert && tlsKey ? { cert: tlsCert, key: tlsKey } : undefined);

  async function stop(): Promise<void> {
    await server.stop();
    await workers.stop();
    clock.close();
    await store.close();
  }

  await store.open(collections);
  try {
    // Listens before it seeds the store, so that a port in use leaves no API key that nobody has seen.
    const port = await server.listen(settings.port, settings.host);
    const localUrl = `${tlsCert === null ? "http" : "https"}://${toUrlHost(settings.host)}:${port}`;
    const urls = createUrls(settings.publicUrl ?? localUrl);
    if (hasTestControls) recorder.subscribe();
    const authorizationServer = {
      ...unitOfWorkDeps,
      algorithm: settings.tokenAlg,
      issuer: urls.authUrl,
      audience: urls.baseUrl,
      verifiedTokens: new Map(),
    };
    const checkWebhookUrl = (url: string) => checkUrl(url, webhookPolicy);
    const routeDeps = { urls, checkWebhookUrl };
    const limiter = createRateLimiter(clock, settings.rateLimit);
    const service = await openService({
      port,
      urls,
      unitOfWorkDeps,
      authorizationServer,
      state: await createState({
        unitOfWorkDeps,
        checkWebhookUrl,
        settings,
        needsKey: hasTestControls,
        warn: log.warn,
      }),
      workers,
      tasks,
      recorder,
      faults,
      chaos,
      clearCaches() {
        limiter.clear();
        authorizationServer.verifiedTokens.clear();
      },
      stop,
    });
    const routeTable = applyVariants(API_ROUTES, settings.variants);
    const apiDeps = {
      unitOfWorkDeps,
      routeDeps,
      textCache: new TextCache(urls),
      keysInProgress: new Set<string>(),
      authenticate: createAuthenticator(createApiKeyAuthenticator(unitOfWorkDeps, tasks), (token) =>
        verifyAccessToken(authorizationServer, token),
      ),
      limiter,
      faults,
    };
    const handleRoute = createRequestHandler({
      fallback: publicRouter(ROOT_ROUTES, (error, { id }) => problemResponse(error, id, urls)),
      routers: [
        createApiRouter(apiDeps, routeTable),
        createOAuthRouter(authorizationServer, urls),
        createControlRouter(apiDeps, settings.control ? service : undefined),
      ],
      async lazyRouters() {
        const pages = await import("./web/routes.ts");
        return pages.createPageRouters({
          ...apiDeps,
          oauth: authorizationServer,
          operations: routeTable.routes,
          variants: settings.variants,
          isLocal,
        });
      },
      async findSitePath(host) {
        const site = await findSiteByHost(store, host);
        return site && `${PATHS.sites}/${site.deployment.id}`;
      },
      onError: log.error,
    });
    const handle = log.wrap(withVariants(withCors(handleRoute, isLocal), settings.variants));
    server.setHandler({
      handle: hasTestControls ? recorder.wrap(handle) : handle,
      ids,
      urls,
      onError: log.error,
    });
    return service;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The store of the settings. A module exports a store, or a function that creates one. */
async function createStore(
  { store, data }: Settings,
  warn: (message: string) => void,
): Promise<Store> {
  if (typeof store !== "string")
    return store ?? (data === null ? memoryStore() : jsonFileStore(data, { warn }));
  const isFile = /^[./]|\.[cm]?[jt]s$/.test(store);
  try {
    const exported = await import(isFile ? pathToFileURL(resolve(store)).href : store);
    const candidate = exported.store ?? exported.default;
    return assertStore(typeof candidate === "function" ? await candidate() : candidate);
  } catch (error) {
    throw new OptionError(`store must be a module that exports a store (${error})`);
  }
}
