// The layers put together: from the port to the store and what works behind the answers. It plants nothing and knows no
// seed; service.ts gives it life, and may give it what tests use to look in and to disturb.
import type { AuthorizationServer } from "./authorization-server.ts";
import { judgeUrl } from "./delivery/address-policy.ts";
import { Access } from "./domain/access.ts";
import { RateLimiter } from "./domain/limits.ts";
import type { Store } from "./domain/store.ts";
import { webhookChanges, webhookDraft } from "./domain/webhooks.ts";
import type { UnitParts } from "./domain/work.ts";
import type { Chaos } from "./embedding/chaos.ts";
import type { TestControls } from "./embedding/controls.ts";
import type { Journals } from "./embedding/journals.ts";
import type { Call, Handler } from "./http/call.ts";
import type { ControlRow } from "./http/control-table.ts";
import type { Faults } from "./http/faults.ts";
import { api, front, health, home, unlessDomain } from "./http/front.ts";
import { ServiceLinks } from "./http/links.ts";
import { Listener } from "./http/listener.ts";
import type { Services } from "./http/route.ts";
import { Router } from "./http/router.ts";
import { routes } from "./http/routes.ts";
import { Presenter } from "./http/view.ts";
import type { AdjustableClock } from "./kit/clock.ts";
import type { TimeOrderedIds } from "./kit/ids.ts";
import type { Log } from "./kit/log.ts";
import { OptionError, type Settings } from "./options.ts";
import type { Pages } from "./pages.ts";
import { policyOf, textOf, webhookOutbox } from "./webhook-delivery.ts";
import { Workers } from "./workers.ts";

export interface ServerParts {
  readonly settings: Settings;
  readonly clock: AdjustableClock;
  readonly ids: TimeOrderedIds;
  readonly store: Store;
  readonly log: Log;
  readonly journals?: Journals;
  readonly chaos?: Chaos;
}

export class Server {
  readonly unit: UnitParts;
  readonly access: Access;
  readonly limiter: RateLimiter;
  readonly workers: Workers;
  readonly webhookDraft: ReturnType<typeof webhookDraft>;
  readonly #parts: ServerParts;
  readonly #listener: Listener;
  #links: ServiceLinks | undefined;
  #oauth: Promise<AuthorizationServer> | undefined;
  #pages: Promise<Pages> | undefined;

  constructor(parts: ServerParts) {
    const { settings, clock, ids, store, log, chaos } = parts;
    const onError = (error: unknown, during: string) => log.error(error, during);
    this.#parts = parts;
    this.unit = { store, clock, ids };
    const outbox = webhookOutbox(this.unit, settings, log, chaos);
    this.workers = new Workers(this.unit, outbox, onError);
    this.limiter = new RateLimiter(clock, settings.rateLimit);
    this.webhookDraft = webhookDraft((url) => judgeUrl(url, policyOf(settings)));
    this.access = new Access({
      store,
      clock,
      checkToken: async (token) => (await this.oauth).check(token),
      onError: (error) => onError(error, "noting the use of an API key"),
    });
    this.#listener = listenerOf(settings);
  }

  /** Loaded when first needed, as the pages are: the API answers keys without them, and they took 10 ms of every start. */
  get oauth(): Promise<AuthorizationServer> {
    this.#oauth ??= this.#loadOauth();
    return this.#oauth;
  }

  /** Takes the port; answers under which addresses everything will be found. Requests wait for `serve`. */
  async listen(): Promise<ServiceLinks> {
    const { port, host, publicUrl, tlsCert } = this.#parts.settings;
    const taken = await this.#listener.listen(port, host);
    this.#links = new ServiceLinks(publicUrl ?? localUrl(tlsCert === null ? "http" : "https", host, taken));
    return this.#links;
  }

  /** Answers from now on; `controls` are switched on where there are any. */
  serve(links: ServiceLinks, faults: Faults, controls?: TestControls): void {
    const { settings, log, journals } = this.#parts;
    const services = { links, webhookDraft: this.webhookDraft, webhookChanges: webhookChanges(this.webhookDraft) };
    const router = this.#router(services, faults);
    const web = () => {
      this.#pages ??= this.#loadPages(services, controls?.rows ?? []);
      return this.#pages;
    };
    const inside = front(
      [api((call) => router.handle(call)), health(links), home(links)],
      [async (call) => (await this.oauth).door(call), async (call) => (await web()).door(call)],
      links,
    );
    const all = unlessDomain(this.unit.store, links, async (call) => (await web()).domain(call), inside);
    const handle: Handler = controls ? (call) => controls.door(call) ?? all(call) : all;
    this.#listener.serve({
      ids: this.unit.ids,
      handle: (call) => {
        journals?.arrived(call);
        return handle(call);
      },
      links,
      onError: (error, id) => log.error(error, id),
      ...((settings.log !== "off" || journals) && {
        onAnswer: (call, status, duration_ms) => this.#answered(call, status, duration_ms),
      }),
    });
  }

  /** Finishes what is in flight, then ends: no timer and no socket is left. */
  async stop(): Promise<void> {
    await this.#listener.stop();
    await this.access.settled();
    await this.workers.stop();
    this.#parts.clock.close();
    await this.#parts.store.close();
  }

  async #loadOauth(): Promise<AuthorizationServer> {
    if (this.#links === undefined) throw new Error("The service has not started");
    const { settings, log } = this.#parts;
    const { authorizationServer } = await import("./authorization-server.ts");
    const announce = (line: string) => log.announce(line);
    return authorizationServer({ unit: this.unit, links: this.#links, alg: settings.tokenAlg, announce });
  }

  async #loadPages(services: Services, controls: readonly ControlRow[]): Promise<Pages> {
    const { limiter, unit } = this;
    const [{ pages }, { visits }] = await Promise.all([import("./pages.ts"), this.oauth]);
    return pages({ unit, visits, services, controls, limiter, retryWaits_ms: this.#parts.settings.retrySchedule });
  }

  #router(services: Services, faults: Faults): Router {
    const { journals } = this.#parts;
    return new Router({
      rows: routes,
      access: this.access,
      limiter: this.limiter,
      unit: this.unit,
      services,
      presenter: new Presenter(services.links),
      faults,
      ...(journals && { onCaller: (call, caller) => journals.identified(call, caller.account.id) }),
    });
  }

  #answered(call: Call, status: number, duration_ms: number): void {
    const { log, journals } = this.#parts;
    journals?.answered(call, status);
    log.request({ id: call.id, method: call.method, path: call.path, status, duration_ms });
  }
}

function localUrl(scheme: string, host: string, port: number): string {
  const shown = host === "127.0.0.1" || host === "0.0.0.0" || host === "::" || host === "::1" ? "localhost" : host;
  return `${scheme}://${shown.includes(":") ? `[${shown}]` : shown}:${port}`;
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
