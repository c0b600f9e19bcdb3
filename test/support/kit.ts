// The kit behind the clauses of test/spec: calls any implementation by the operations that the specification shows, and
// receives its webhooks. It sends every field that the specification shows, and reads no others from a response. Where
// the specification leaves a form open, the profile records this implementation's reading, and any reading passes.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type Profile, profiled } from "../../scripts/conformance/profile.ts";
import { gone, reached, type Target } from "../../scripts/conformance/target.ts";
import {
  type Answer,
  Client,
  type ClientParts,
  freshHost,
  isMembers,
  type Members,
  members,
  PATIENCE_MS,
  str,
} from "./client.ts";
import { type Answers, type Arrival, type Hub, type Inbox, openHub } from "./hub.ts";
import { done, listIn, objectIn } from "./shown.ts";
import { startTrial, type Trial } from "./trial.ts";

/** A clause needs an option or a feature that is missing; that is no failure. */
export class NotTried extends Error {}

export interface Hook extends Inbox {
  secret: string;
}

type Observe = NonNullable<ClientParts["observe"]>;
type Deployed = Awaited<ReturnType<Kit["deployNew"]>>;

/** A webhook that receives nothing. */
export const WEBHOOK = {
  url: "https://hooks.example.com/in",
  events: ["app.deployed"],
  secret: "s",
  active: false,
};

export class Kit {
  /** The URLs of the resources it created. */
  readonly #left: string[] = [];
  #deployed: Promise<Deployed> | undefined;
  #trial: Promise<Trial> | undefined;

  /** Rejects with a one-line error if no clause can run at all. */
  static async open(target: Target, observe: Observe = () => {}) {
    const baseUrl = target["base-url"].replace(/\/+$/, "");
    const api = new Client({ baseUrl, key: target["api-key"], patience_ms: PATIENCE_MS, observe });
    await reached(api);
    const hub = await openHub(target["receiver-url"], target["receiver-port"]);
    try {
      return new Kit({ ...target, "base-url": baseUrl }, api, hub, await profiled(api, hub));
    } catch (error) {
      await hub[Symbol.asyncDispose]();
      return gone(api, error);
    }
  }

  /** `api` uses the API key. */
  private constructor(
    readonly target: Target,
    readonly api: Client,
    readonly hub: Hub,
    readonly profile: Profile,
  ) {}

  /** Cleans up as far as possible: the specification shows how to delete an app, and most servers delete webhooks. */
  async [Symbol.asyncDispose]() {
    const left = [...this.#left].reverse();
    for (const path of left) await this.api.delete(path).catch(() => undefined);
    await this.hub[Symbol.asyncDispose]();
  }

  /** Returns a target option that cannot be created; without it the clause is skipped. */
  given<N extends keyof Target>(name: N) {
    return this.target[name] ?? notTried(`give --${name}`);
  }

  get dataSource() {
    return (
      this.profile.dataSource ?? notTried("no body of POST /data-sources that is taken is known")
    );
  }

  // Apps

  async createApp(fields: object = {}, api = this.api) {
    const answer = await api.post("/apps", { ...this.profile.app, ...fields });
    const { id } = objectIn(answer.text);
    if (typeof id === "string") this.#left.push(`/apps/${id}`);
    return answer;
  }

  async newApp(fields: object = {}): Promise<Members & { id: string }> {
    const { json, id } = done(await this.createApp(fields));
    return { ...json, id };
  }

  /** The apps of one page. */
  async appsIn(query = "") {
    return listIn(done(await this.api.get(`/apps${query}`)));
  }

  /** All matching apps, page by page, until a page has nothing new. */
  async allApps(filter = "") {
    const found = new Map<unknown, Members>();
    for (let before = -1; found.size > before; ) {
      before = found.size;
      for (const app of await this.appsIn(
        `?limit=${this.profile.pageSize}&offset=${before}${filter}`,
      ))
        found.set(app.id, app);
    }
    return [...found.values()];
  }

  /** Ensures that the account has at least this many apps. */
  async fillUp(count: number) {
    for (let there = (await this.allApps()).length; there < count; there += 1)
      await this.newApp({ public: there % 3 === 0 });
    return this.allApps();
  }

  tryDeploy(app: string, fields: object = {}, api = this.api) {
    const { deployment } = this.profile;
    const domain = "custom_domain" in deployment && { custom_domain: freshHost() };
    return api.post(`/apps/${app}/deploy`, { ...deployment, ...domain, ...fields });
  }

  deploy = async (app: string, fields: object = {}) => done(await this.tryDeploy(app, fields));

  /** The six operations of the specification, each as a valid request on this app. */
  operations(app: string): readonly (readonly [method: string, path: string, body?: Members])[] {
    return [
      ["GET", "/apps"],
      ["POST", "/apps", this.profile.app],
      ["POST", `/apps/${app}/deploy`, this.profile.deployment],
      ["POST", "/data-sources", this.profile.dataSource ?? {}],
      ["POST", "/webhooks", WEBHOOK],
      ["DELETE", `/apps/${app}`],
    ];
  }

  // Webhooks

  /** A webhook with an inbox of its own. */
  async hook(events: readonly string[], fields: object = {}, answers?: Answers) {
    if (this.profile.hookless !== undefined) notTried(this.profile.hookless);
    const inbox = this.hub.open(answers);
    const webhook = {
      url: inbox.url,
      events,
      secret: `between-us-${randomUUID()}`,
      active: true,
      ...fields,
    };
    const { text } = done(await this.api.post("/webhooks", webhook));
    const { id } = objectIn(text);
    if (typeof id === "string") this.#left.push(`/webhooks/${id}`);
    return { ...inbox, secret: webhook.secret };
  }

  /** Deploys an app and waits for app.deployed, the one event whose data.object the specification shows. */
  async deployNew(hook: Hook, fields: object = {}) {
    const app = await this.newApp(fields);
    await this.deploy(app.id);
    const [arrival] = await hook.arrived(ofApp(app.id));
    assert.ok(arrival);
    const { event } = arrival;
    const object = members(members(event.data).object);
    return { app, arrival, event, object, deployment: members(object.deployment) };
  }

  /** One deployment shared by all read-only clauses. */
  deployed() {
    this.#deployed ??= this.hook(["app.deployed"]).then((hook) => this.deployNew(hook));
    return this.#deployed;
  }

  /** The trial of deliveries with several responses: started once, checked by the clauses on success. */
  trial() {
    this.#trial ??= startTrial(this);
    return this.#trial;
  }

  // OAuth

  get client() {
    const [id, secret] = [this.given("client-id"), this.given("client-secret")];
    return { id, secret, redirect_uri: this.given("redirect-uri") };
  }

  get authUrl() {
    return this.target["auth-url"] ?? new URL(this.target["base-url"]).origin;
  }

  /** Returns the parameters of the redirect to the client. */
  async authorized(scope: string, state = "opaque") {
    const { id, redirect_uri } = this.client;
    const asked = { client_id: id, redirect_uri, response_type: "code", scope, state };
    const signIn = this.given("sign-in");
    const back = await signIn(`${this.authUrl}/oauth/authorize?${new URLSearchParams(asked)}`);
    assert.ok(back.startsWith(redirect_uri), `sent back to ${back} in place of ${redirect_uri}`);
    return Object.fromEntries(new URL(back).searchParams);
  }

  /** POST to the authorization server. */
  ask(path: string, body: Members) {
    return this.api.at(this.authUrl).as(null).post(path, body);
  }

  askToken = (body: Members) => this.ask("/oauth/token", body);

  /** The body that exchanges a new code for tokens. */
  async exchangeBody(scope: string): Promise<Members> {
    const { id: client_id, secret: client_secret, redirect_uri } = this.client;
    const code = str((await this.authorized(scope)).code);
    return { grant_type: "authorization_code", client_id, client_secret, code, redirect_uri };
  }

  async tokens(scope: string) {
    return tokensIn(done(await this.askToken(await this.exchangeBody(scope))));
  }

  /** Returns a client with an access token of these scopes. */
  async holder(scope: string) {
    const given = this.target.token?.find(
      (pair) => scopesOf(pair.replace(/=.*/, "")) === scopesOf(scope),
    );
    if (given !== undefined) return this.api.as(given.replace(/^[^=]*=/, ""));
    if (this.target["client-id"] === undefined || this.target["sign-in"] === undefined)
      notTried(`give --token ${scope}=TOKEN, or --client-id and --sign-in`);
    return this.api.as((await this.tokens(scope)).access);
  }
}

/** Sorts the scopes and separates them with one space. */
const scopesOf = (scopes: string) =>
  scopes
    .match(/[^ ,]+/g)
    ?.sort()
    .join(" ") ?? "";

export function notTried(why: string): never {
  throw new NotTried(why);
}

/** Matches app.deployed of this app. */
export const ofApp =
  (id: string) =>
  ({ event: { type, data } }: Arrival) =>
    type === "app.deployed" && isMembers(data) && isMembers(data.object) && data.object.id === id;

/** Finds the tokens in a response of unspecified form by RFC 6749's names, in snake or camel case. */
export function tokensIn({ json, text }: Answer) {
  const { access_token = json.accessToken, refresh_token = json.refreshToken } = json;
  assert.ok(typeof access_token === "string", `no access token in ${text.slice(0, 200)}`);
  return { access: access_token, refresh: String(refresh_token ?? "") };
}
