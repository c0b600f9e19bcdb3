// Composition root: starts the service, from settings to a running server, read from top to bottom. A failed start
// releases everything, including the port and the file lock.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { checkUrl } from "./delivery/address-policy.ts";
import { createHttpSender } from "./delivery/sender.ts";
import { findSiteByHost } from "./domain/apps.ts";
import { collections } from "./domain/collections.ts";
import { createApiKeyAuthenticator } from "./domain/credentials.ts";
import { createWebhookSchemas } from "./domain/model.ts";
import { verifyAccessToken } from "./domain/oauth/access.ts";
import type { AuthorizationServer } from "./domain/oauth/tokens.ts";
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
import { createLogger, type Log, stdio } from "./log.ts";
import {
  assertStore,
  isLoopbackOnly,
  readOptions,
  type ServiceOptions,
  type Settings,
  serverOptions,
  webhookPolicyFor,
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

const EXPOSED_ADVICE = "other machines can reach this server, so use it locally only.";
/** The start of a manual clock with a random seed, so that two runs give the same bytes. */
const SEEDED_START = parseIso("2026-01-01T00:00:00.000Z");

/** `isEmbedded`: a test holds the service handle. */
export async function startWithSettings(settings: Settings, isEmbedded: boolean): Promise<Service> {
  const { randomSeed } = settings;
  const hasTestControls = isEmbedded || settings.control;
  const isLocal = isLoopbackOnly(settings);
  const webhookPolicy = webhookPolicyFor(settings);
  // A manual clock starts at the real time, so that stock verifiers accept what it signs.
  const startAt = settings.startAt ?? (randomSeed === null ? systemNow() : SEEDED_START);
  const clock = new AdjustableClock(settings.clock === "manual" ? startAt : undefined);
  const log = createLogger(settings.log, clock, stdio);
  const store = await createStore(settings, log);
  const random = randomSeed === null ? systemRandom : seededRandom(randomSeed);
  const ids = new TimeOrderedIds(clock, random);
  const notifications = createNotifications();
  const unitOfWorkDeps = { store, clock, ids, notifications };
  const tasks = new TaskTracker(log.error);
  const recorder = createRecorder({ ...unitOfWorkDeps, tasks, onError: log.error });
  const faults = createFaults({ clock, tasks, annotate: recorder.annotate });
  const chaos = createChaos({ unitOfWorkDeps, effects: recorder.effects });
  const sender = createHttpSender({ policy: webhookPolicy, timeout_ms: settings.webhookTimeout });
  const workers = createWorkers({
    ...unitOfWorkDeps,
    tasks,
    sender: chaos.wrap(sender),
    retryWaits_ms: settings.retrySchedule,
    // Runs with one seed send the same bytes; otherwise stock verifiers compare the timestamp with their own clock.
    timestamp: randomSeed === null ? systemNow : () => clock.now(),
    onAttempt: log.delivery,
  });
  const { tlsCert, tlsKey } = settings;
  const server = createHttpServer(tlsCert && tlsKey ? { cert: tlsCert, key: tlsKey } : undefined);

  async function stop(): Promise<void> {
    await server.stop();
    await workers.stop();
    clock.close();
    await store.close();
  }

  await store.open(collections);
  try {
    // Listens before it loads the data: if the port is in use, no API key is created that nobody would see.
    const port = await server.listen(settings.port, settings.host);
    const urls = createUrls(settings.publicUrl ?? localUrl(settings, port));
    if (hasTestControls) recorder.subscribe();
    const authorizationServer: AuthorizationServer = {
      ...unitOfWorkDeps,
      algorithm: settings.tokenAlg,
      issuer: urls.authUrl,
      audience: urls.baseUrl,
      verifiedTokens: new Map(),
    };
    const routeDeps = {
      urls,
      webhook: createWebhookSchemas((url) => checkUrl(url, webhookPolicy)),
    };
    const limiter = createRateLimiter(clock, settings.rateLimit);
    const state = await createState({
      unitOfWorkDeps,
      routeDeps,
      settings,
      needsKey: hasTestControls,
      warn: log.warn,
    });
    const service = await openService({
      port,
      urls,
      unitOfWorkDeps,
      authorizationServer,
      state,
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
    const textCache = new TextCache(urls);
    const keysInProgress = new Set<string>();
    const authenticate = createAuthenticator(
      createApiKeyAuthenticator(unitOfWorkDeps, tasks),
      (token) => verifyAccessToken(authorizationServer, token),
    );
    const operations = applyVariants(API_ROUTES.routes, settings.variants);
    const apiDeps = {
      unitOfWorkDeps,
      routeDeps,
      textCache,
      keysInProgress,
      authenticate,
      limiter,
      faults,
    };
    const api = createApiRouter(apiDeps, operations);
    const oauth = createOAuthRouter(authorizationServer, urls);
    const control = createControlRouter(apiDeps, settings.control ? service : undefined);
    const root = publicRouter(ROOT_ROUTES, (error, request) =>
      problemResponse(error, request.id, urls),
    );
    const handleRoute = createRequestHandler({
      fallback: root,
      routers: [api, oauth, control],
      async lazyRouters() {
        const pages = await import("./web/routes.ts");
        return pages.createPageRouters({
          ...apiDeps,
          oauth: authorizationServer,
          operations,
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
    const exposed = [
      settings.control && "--control",
      settings.webhookPolicy === "local" && "--webhook-policy local",
    ].filter(Boolean);
    // A process warns without a log, too.
    const warn = settings.log === "off" && !isEmbedded ? stdio.err : log.warn;
    if (exposed.length > 0 && !isLocal) warn(`${exposed.join(" and ")}: ${EXPOSED_ADVICE}`);
    return service;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The store of the settings. A module exports a store, or a function that creates one. */
async function createStore({ store, data }: Settings, { warn }: Log): Promise<Store> {
  if (typeof store !== "string")
    return store ?? (data === null ? memoryStore() : jsonFileStore(data, { warn }));
  const isFile = /^[./]|\.[cm]?[jt]s$/.test(store);
  try {
    const exported = await import(isFile ? pathToFileURL(resolve(store)).href : store);
    const found: unknown = exported.store ?? exported.default;
    return assertStore(typeof found === "function" ? await found() : found);
  } catch (error) {
    throw new OptionError(`store must be a module that exports a store (${error})`);
  }
}

function localUrl({ tlsCert, host }: Settings, port: number): string {
  return `${tlsCert === null ? "http" : "https"}://${toUrlHost(host)}:${port}`;
}
