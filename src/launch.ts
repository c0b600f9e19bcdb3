// Puts the service together: a start, from options to a service that stands, is read here from top to bottom. What fails on
// the way leaves nothing behind - no port, no lock of a file.
import { judgeUrl } from "./delivery/address-policy.ts";
import { type Access, accessTo, type Caller } from "./domain/access.ts";
import { collections } from "./domain/collections.ts";
import { siteAt } from "./domain/deployments.ts";
import { rateLimiter } from "./domain/limits.ts";
import { type Context, check } from "./domain/oauth/access-tokens.ts";
import { signingKeysIn } from "./domain/oauth/signing-keys.ts";
import type { Store } from "./domain/store.ts";
import { webhookChanges, webhookDraft } from "./domain/webhooks.ts";
import { Chaos, chaosRule } from "./embedding/chaos.ts";
import { Journals } from "./embedding/journals.ts";
import { clockFor, type ServiceOptions } from "./embedding/options.ts";
import { Rules } from "./embedding/rules.ts";
import { States } from "./embedding/states.ts";
import { apiWay } from "./http/api.ts";
import type { Call, Reply } from "./http/call.ts";
import { controlWay } from "./http/control.ts";
import { documentWay, PLAIN_DOCUMENTS } from "./http/documents.ts";
import { Faults } from "./http/faults.ts";
import { ADDRESSES, ServiceLinks } from "./http/links.ts";
import { Listener } from "./http/listener.ts";
import { oauthWay } from "./http/oauth.ts";
import type { Services } from "./http/route.ts";
import { Router } from "./http/router.ts";
import { routes } from "./http/routes.ts";
import { Presenter } from "./http/view.ts";
import type { AdjustableClock } from "./kit/clock.ts";
import { seededRandom, systemRandom, TimeOrderedIds } from "./kit/ids.ts";
import { type Console, type Log, logTo } from "./kit/log.ts";
import { OptionError, readSettings, type Settings } from "./options.ts";
import { Service } from "./service.ts";
import { jsonFileStore } from "./store/json-file.ts";
import { memoryStore } from "./store/memory.ts";
import { policyOf, textOf, webhookOutbox } from "./webhook-delivery.ts";
import { Workers } from "./workers.ts";

/** Whose streams these are is the business of whoever embeds the service. */
export const terminal: Console = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
};

/** Starts the service; resolves when it listens and everything in it is ready to use. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const clock = clockFor(options);
  const settings = readSettings({ port: 0, log: "off", ...options, seed: undefined }, (name) => name);
  if (options.store !== undefined && settings.data !== null)
    throw new OptionError("store and data cannot be given together: each says where everything is kept");
  return run(settings, clock, options, true);
}

/** The same for a process of its own, whose settings were read from flags. `watched`: somebody may look in and disturb. */
export async function run(
  settings: Settings,
  clock: AdjustableClock,
  { seed, store: given }: Pick<ServiceOptions, "seed" | "store">,
  watched: boolean,
): Promise<Service> {
  const asked = logTo(settings.log, clock, terminal);
  // Without a log a process still has a console, and a sign-in link that was asked for is shown nowhere else.
  const log = settings.log === "off" && !watched ? { ...asked, announce: terminal.out } : asked;
  const store = given ?? storeOf(settings, log);
  const ground = groundOf(settings, clock, store, log, watched); // refuses wrong files
  await store.open(collections);
  try {
    return await stand(ground, seed ?? settings.seed);
  } catch (error) {
    await ground.stop();
    throw error;
  }
}

const storeOf = ({ data }: Settings, log: Log): Store =>
  data === null ? memoryStore() : jsonFileStore(data, { warn: (line) => log.warn(line) });

type Ground = ReturnType<typeof groundOf>;

/** What there is before an address is known. */
function groundOf(settings: Settings, clock: AdjustableClock, store: Store, log: Log, watched: boolean) {
  const onError = (error: unknown, during: string) => log.error(error, during);
  const { randomSeed } = settings;
  const ids = new TimeOrderedIds(clock, randomSeed === null ? systemRandom : seededRandom(randomSeed));
  const unit = { store, clock, ids };
  const journals = new Journals(clock);
  const chaos: Chaos = new Chaos({
    ...{ store, clock },
    onStrike: (id, attempt, effect) => journals.disturbed(id, attempt, effect),
    inBackground: (what, work) => workers.run(what, work),
  });
  if (watched) journals.hear(store, (error) => onError(error, "noting what was committed"));
  const workers = new Workers(unit, webhookOutbox(unit, settings, log, watched ? chaos : undefined), onError);
  const limiter = rateLimiter(clock, settings.rateLimit);
  const listener = listenerOf(settings);
  /** Each ends something that was begun, the last first. */
  const ends = [() => store.close(), async () => clock.close(), () => workers.stop()];
  const stop = async () => {
    await listener.stop();
    for (const end of ends.splice(0).reverse()) await end();
  };
  return { settings, clock, log, watched, onError, ids, unit, journals, chaos, workers, limiter, listener, ends, stop };
}

/** Takes the port, plants or takes up what is kept, and answers. */
async function stand(ground: Ground, seed: object | string | null): Promise<Service> {
  const { settings, clock, log, watched, onError, ids, unit, journals, workers, limiter, listener, ends } = ground;
  // The port first: where it is taken, no key may be planted that nobody would ever get to see.
  const port = await listener.listen(settings.port, settings.host);
  const links = new ServiceLinks(settings.publicUrl ?? localUrl(settings, port));
  const keys = signingKeysIn(unit.store, clock, settings.tokenAlg);
  const oauth = { ...unit, keys, issuer: links.authUrl, audience: links.baseUrl, verified: new Map() };
  const access = accessTo({
    ...unit,
    checkToken: (token) => check(oauth, token),
    onError: (error) => onError(error, "noting the use of an API key"),
  });
  ends.push(() => access.settled());
  const draft = webhookDraft((url) => judgeUrl(url, policyOf(settings)));
  const book = new Faults({ rows: routes, clock, links, onStrike: (id, mark) => journals.struck(id, mark) });
  const faults = new Rules("faults", book.rule, book);
  const chaos = new Rules("chaos", chaosRule, ground.chaos);
  const { apiKey, randomSeed } = settings;
  const rules = { seed, apiKey, needsKey: watched, webhookDraft: draft, log };
  const forget = () => {
    for (const each of [journals, chaos, faults]) each.clear();
  };
  const resettable = watched;
  const states = new States({ unit, clock, ids, access, limiter, workers, rules, randomSeed, resettable, forget });
  const standing = await states.begin(await states.open());
  await workers.start();
  const parts = { clock, oauth, links, journals, faults, chaos, workers, states, stop: ground.stop };
  const service = new Service(parts, standing);
  const services = { links, webhookDraft: draft, webhookChanges: webhookChanges(draft) };
  const router = routerOf(ground, { oauth, access, services, faults: book, service });
  serve(ground, router, links);
  return service;
}

interface Wired {
  readonly oauth: Context;
  readonly access: Access;
  readonly services: Services;
  readonly faults: Faults;
  readonly service: Service;
}

/** All ways there are to an answer; the pages are loaded when somebody first comes to them. */
function routerOf(ground: Ground, { oauth, access, services, faults, service }: Wired): Router {
  const { unit, limiter, journals, settings, log, onError } = ground;
  const { links } = services;
  const parts = { unit, services, presenter: new Presenter(links) };
  const onCaller = (call: Call, caller: Caller) => journals.identified(call, caller.account.id);
  const control = settings.control ? [controlWay(parts, service)] : [];
  const controls = control.flatMap(({ rows }) => rows);
  let nowhere: (call: Call) => Reply | undefined = () => undefined;
  return new Router({
    rest: documentWay(links, PLAIN_DOCUMENTS, (call) => nowhere(call)),
    ways: [apiWay({ ...parts, access, limiter, faults, onCaller }), oauthWay(oauth, links), ...control],
    async later() {
      const { nowherePage, pageWays } = await import("./pages.ts");
      nowhere = nowherePage;
      const announce = (line: string) => log.announce(line);
      return pageWays({ unit, oauth, services, limiter, controls, retryWaits_ms: settings.retrySchedule, announce });
    },
    async siteOf(host) {
      const site = await siteAt(unit.store, host);
      return site && `${ADDRESSES.sites}/${site.deployment.id}`;
    },
    onError,
  });
}

function serve({ listener, unit, journals, watched, onError, log }: Ground, router: Router, links: ServiceLinks): void {
  listener.serve({
    ids: unit.ids,
    links,
    onError,
    handle(call) {
      if (watched) journals.arrived(call);
      return router.handle(call);
    },
    onAnswer(call, status, duration_ms) {
      if (watched) journals.answered(call, status);
      log.request({ id: call.id, method: call.method, path: call.path, status, duration_ms });
    },
  });
}

function localUrl({ tlsCert, host }: Settings, port: number): string {
  const shown = ["127.0.0.1", "0.0.0.0", "::", "::1"].includes(host) ? "localhost" : host;
  return `${tlsCert === null ? "http" : "https"}://${shown.includes(":") ? `[${shown}]` : shown}:${port}`;
}

function listenerOf({ tlsCert, tlsKey }: Settings): Listener {
  if (tlsCert === null || tlsKey === null) return new Listener();
  const tls = { cert: textOf("tls-cert", tlsCert), key: textOf("tls-key", tlsKey) };
  try {
    return new Listener(tls);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OptionError(`--tls-cert and --tls-key must be a certificate and its private key (PEM): ${why}`);
  }
}
