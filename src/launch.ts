// Puts the service together: a start, from settings to a service that stands, is read here from top to bottom. What fails
// on the way leaves nothing behind - no port, no lock of a file.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { judgeUrl } from "./delivery/address-policy.ts";
import { httpSender } from "./delivery/sender.ts";
import { keyHolders } from "./domain/access.ts";
import { collections } from "./domain/collections.ts";
import { siteAt } from "./domain/deployments.ts";
import { webhookUnder } from "./domain/model.ts";
import { type Context, check } from "./domain/oauth/access-tokens.ts";
import { signingKeysIn } from "./domain/oauth/signing-keys.ts";
import { deciding } from "./domain/readings.ts";
import type { Store } from "./domain/store.ts";
import { controlDocument, controlWay } from "./embedding/control.ts";
import { chaosOf, faultsOf } from "./embedding/disturbances.ts";
import { journalsOf } from "./embedding/journals.ts";
import { openService, type Service } from "./embedding/service.ts";
import { type ApiParts, apiWay } from "./http/api.ts";
import { authenticating } from "./http/authorization.ts";
import type { Call, Handler, Reply } from "./http/call.ts";
import { withCors } from "./http/cors.ts";
import { rateLimiter } from "./http/limits.ts";
import { ADDRESSES, linksOf } from "./http/links.ts";
import { type Listener, listenerOf } from "./http/listener.ts";
import { oauthWay } from "./http/oauth.ts";
import { problem } from "./http/problem.ts";
import { presenting } from "./http/view.ts";
import { type Answer, openWay, PLAIN_DOCUMENTS, routing } from "./http/way.ts";
import { Background } from "./kit/background.ts";
import { AdjustableClock, type Instant, instant, monotonicNow, systemNow } from "./kit/clock.ts";
import { seededRandom, systemRandom, TimeOrderedIds } from "./kit/ids.ts";
import { OptionError } from "./kit/schema.ts";
import { type Console, type Log, logTo } from "./log.ts";
import {
  checkedStore,
  inUrl,
  isDatabase,
  policyOf,
  readSettings,
  type ServiceOptions,
  type Settings,
  staysHere,
} from "./options.ts";
import { jsonFileStore } from "./store/json-file.ts";
import { memoryStore } from "./store/memory.ts";
import { workersOf } from "./workers.ts";

/** Whose streams these are is the business of whoever embeds the service. */
export const terminal: Console = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
};

/** Where a manual clock with a random seed starts: two runs must give the same bytes. */
const SEEDED_START = "2026-01-01T00:00:00.000Z";
/** How much longer a row stays claimed than an attempt can take. */
const LEASE_SPARE_MS = 10_000;

/** Starts the service; resolves when it listens and everything in it is ready to use. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { port, log } = options;
  return run(readSettings({ ...options, port: port ?? 0, log: log ?? "off" }), true);
}

/** The same for a process of its own, whose settings were read from flags. `watched`: somebody may look in and disturb. */
export async function run(settings: Settings, watched: boolean, announce?: Log["announce"]): Promise<Service> {
  const ground = await groundOf(settings, watched, announce);
  const { log, unit, stop } = ground;
  const open = [settings.control && "--control", settings.webhookPolicy === "local" && "--webhook-policy local"];
  const flags = open.filter(Boolean).join(" and ");
  await unit.store.open(collections);
  const service = await stand(ground).catch(async (error) => {
    await stop();
    throw error;
  });
  // Without a log, too, and not beside the line that says why nothing stands.
  const warn = announce && settings.log === "off" ? terminal.err : log.warn;
  if (flags && !staysHere(settings))
    warn(`${flags}: meant for a server that only this machine reaches; others reach this one.`);
  return service;
}

type Ground = Awaited<ReturnType<typeof groundOf>>;

/** What there is before anything is opened. */
async function groundOf(settings: Settings, watched: boolean, announce?: Log["announce"]) {
  const { randomSeed, webhookTimeout: timeout_ms } = settings;
  const clock = new AdjustableClock(settings.clock === "manual" ? startOf(settings) : undefined);
  const asked = logTo(settings.log, clock, terminal);
  // Without a log a process still has a console, and a sign-in link that was asked for is shown nowhere else.
  const log = settings.log === "off" && announce ? { ...asked, announce } : asked;
  const store = await storeOf(settings, log);
  const ids = new TimeOrderedIds(clock, randomSeed === null ? systemRandom : seededRandom(randomSeed));
  const unit = { store, clock, ids, decide: deciding(settings.readings) };
  const journals = journalsOf(clock);
  const background = new Background(log.error);
  const [faults, chaos] = [faultsOf(unit, journals.note, background), chaosOf(unit, journals.marks, background)];
  const sender = httpSender({ policy: policyOf(settings), timeout_ms });
  const workers = workersOf({
    sender: chaos.around(sender),
    retryWaits_ms: settings.retrySchedule,
    // Runs with one seed send the same bytes; otherwise stock verifiers compare the timestamp with their own clock.
    timestamp: () => (randomSeed === null ? systemNow() : clock.now()),
    concurrency: settings.webhookConcurrency ?? unit.decide("6.webhook-concurrency"),
    lease_ms: timeout_ms + LEASE_SPARE_MS,
    onAttempt({ deliveryId: id, type, url, attempt: made }) {
      const { number: attempt, duration_ms, response_status, error, error_detail } = made;
      log.delivery({ id, type, url, outcome: String(response_status ?? error), duration_ms, attempt, error_detail });
    },
    // Last, here and below: a spread in the first place makes each member that follows it cost ten times as much.
    ...{ background, onError: log.error, ...unit },
  });
  const listener = secured(settings);
  const stop = async () => {
    await listener.stop();
    await workers.stop();
    clock.close();
    await store.close();
  };
  const answers = new Map<string, Promise<Answer>>();
  return { settings, watched, log, unit, background, journals, workers, faults, chaos, answers, listener, stop };
}

/** Where a manual clock starts: at the real time, so that stock verifiers accept what it signs. */
function startOf({ startAt, randomSeed }: Settings): Instant {
  if (startAt !== null) return instant(startAt);
  return randomSeed === null ? systemNow() : instant(SEEDED_START);
}

async function storeOf({ store, data }: Settings, { warn }: Log): Promise<Store> {
  if (typeof store === "string") return storeIn(store);
  if (data !== null && isDatabase(data)) return (await import("./postgres/store.ts")).postgresStore(data);
  return store ?? (data === null ? memoryStore() : jsonFileStore(data, { warn }));
}

/** The store of a module that somebody else wrote: a file, or a package that is installed where this one is. */
async function storeIn(name: string): Promise<Store> {
  const isFile = isAbsolute(name) || /^\.|\.[cm]?[jt]s$/.test(name);
  let why: unknown = "it exports neither";
  try {
    const { default: main, store = main } = await import(isFile ? pathToFileURL(resolve(name)).href : name);
    const made = typeof store === "function" ? await store() : store;
    if (typeof made === "object") return checkedStore(made);
  } catch (error) {
    why = error;
  }
  const must =
    "must be a file or an installed package whose export `store`, or else its default, is a Store or makes one";
  throw new OptionError(`store (--store, APPHOST_STORE) ${must}; it is ${JSON.stringify(name)} (${why})`);
}

/** Takes the port, plants or takes up what is kept, and answers. */
async function stand(ground: Ground): Promise<Service> {
  const { settings, watched, log, unit, background, journals, listener } = ground;
  const { store, clock, ids, decide } = unit;
  // The port first: where it is taken, no key may be planted that nobody would ever get to see.
  const port = await listener.listen(settings.port, settings.host);
  const links = linksOf(settings.publicUrl ?? localUrl(settings, port));
  if (watched) journals.hear(store, background);

  const keys = signingKeysIn(store, settings.tokenAlg);
  const oauth = { keys, issuer: links.authUrl, audience: links.baseUrl, verified: new Map(), ...unit };
  const parts = {
    services: { links, decide, webhook: webhookUnder((url) => judgeUrl(url, policyOf(settings))) },
    presenter: presenting(links, decide),
    authenticate: authenticating(keyHolders(unit, background), (token) => check(oauth, token)),
    limiter: rateLimiter(clock, settings.rateLimit, store.now && store),
    ...{ port, oauth, ...ground },
  };
  const service = await openService(parts);
  const answering = withCors(handlerOf(parts, service), staysHere(settings));
  const handle = settings.log === "off" ? answering : logged(answering, log);
  listener.serve({ handle: watched ? journals.around(handle) : handle, ids, links, onError: log.error });
  return service;
}

/** Says of each request how it is answered; the status is 0 where it is not. */
const logged =
  (handle: Handler, { request }: Log): Handler =>
  async (call) => {
    const started = monotonicNow();
    const reply = await handle(call);
    const { id, method, path } = call;
    request({ id, method, path, status: reply.status, duration_ms: monotonicNow() - started });
    return reply;
  };

/** All ways there are to an answer; the pages are loaded when somebody first comes to them. */
function handlerOf(parts: Ground & ApiParts & { readonly oauth: Context }, service: Service): Handler {
  const { settings, log, unit } = parts;
  const { links } = parts.services;
  const api = apiWay(parts);
  const control = controlWay(parts, settings.control ? service : undefined, log.warn);
  const description = controlDocument(control.tree.rows, parts.services);
  let nowhere: (call: Call) => Reply | undefined = () => undefined;
  return routing({
    // Its way is also that of all addresses which nobody knows: there a person is shown a page.
    rest: openWay(PLAIN_DOCUMENTS, (refusal, call) => {
      const page = refusal.reason.code === "not_found" ? nowhere(call) : undefined;
      return page ?? problem(refusal, call.id, links);
    }),
    ways: [api, oauthWay(parts.oauth, links), control, ...(settings.control ? [description] : [])],
    async later() {
      const { nowherePage, pageWays } = await import("./web/pages.ts");
      nowhere = nowherePage;
      const more = { operations: api.tree.rows, retryWaits_ms: settings.retrySchedule, announce: log.announce };
      const isLocal = staysHere(settings);
      return pageWays({ ...parts, ...more, isLocal }, settings.control);
    },
    async siteOf(host) {
      const site = await siteAt(unit.store, host);
      return site && `${ADDRESSES.sites}/${site.deployment.id}`;
    },
    onError: log.error,
  });
}

function localUrl({ tlsCert, host }: Settings, port: number): string {
  const shown = ["0.0.0.0", "::"].includes(host) ? "localhost" : host;
  return `${tlsCert === null ? "http" : "https"}://${inUrl(shown)}:${port}`;
}

function secured({ tlsCert: cert, tlsKey: key }: Settings): Listener {
  if (cert === null || key === null) return listenerOf();
  try {
    // To TLS a key of another kind than the certificate's is one more, and no client could ever connect.
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error("they are not a pair");
    return listenerOf({ cert, key });
  } catch (error) {
    const names = "tlsCert and tlsKey (--tls-cert and --tls-key, APPHOST_TLS_CERT and APPHOST_TLS_KEY)";
    throw new OptionError(`${names} must be a certificate and its private key (PEM): ${error}`);
  }
}
