// Profiles how an implementation reads the gaps of the specification, by trial requests before the clauses run. A
// different choice is a result, never a failure; the clauses send and expect the readings found here.
import { randomUUID } from "node:crypto";
import { isLoopbackHost } from "../../src/lib/loopback.ts";
import { type Answer, type Client, freshHost, type Members } from "../../test/support/client.ts";
import { type Hub, type Inbox, orNothing } from "../../test/support/hub.ts";
import { objectIn, succeeded } from "../../test/support/shown.ts";

/** A sentence for each gap, by its name, such as `create`. */
type Says = Readonly<Record<string, string>>;

export interface Profile {
  /** A body that POST /apps accepts, with all four fields. */
  readonly app: Members;
  readonly deployment: Members;
  /** A body that POST /data-sources accepts, if one was found. */
  readonly dataSource: Members | undefined;
  /** The reason why webhooks cannot reach the kit, if any. */
  readonly hookless: string | undefined;
  /** The maximum page size of the list of apps. */
  readonly pageSize: number;
  readonly says: Says;
}

const APP = { title: "Sales", description: "By region", public: true } as const;
const THEMES = ["light", "dark", "default", "blue"] as const;
const ENVIRONMENTS = ["production", "staging", "prod", "live"] as const;
const ROWS = "region,revenue\nNorth,5\n";
/** Bodies that services of this kind accept; the specification shows none. */
const DATA_SOURCES: readonly Members[] = [
  { name: "Orders", type: "csv", data: ROWS },
  { name: "Orders", type: "json", data: [{ region: "North", revenue: 5 }] },
  { name: "Orders", type: "csv", content: ROWS },
  { name: "Orders", type: "postgres", url: "postgres://db.example.com/orders" },
  { name: "Orders", type: "http", url: "https://data.example.com/orders.csv" },
  { name: "Orders", type: "csv" },
  { name: "Orders" },
];
const BEYOND = 1_000_000;

export async function profiled(api: Client, hub: Hub): Promise<Profile> {
  const themes = THEMES.map((theme) => ({ ...APP, theme }));
  const releases = ENVIRONMENTS.map((environment) => ({
    name: "R1",
    custom_domain: freshHost(),
    environment,
  }));
  const app = await firstTaken(api, "/apps", themes);
  const id = String(objectIn(app.answer.text).id);
  const { inbox, hookless, webhooks } = await hooks(api, hub);
  const began = performance.now();
  const deployment = await firstTaken(api, `/apps/${id}/deploy`, releases);
  const source = await firstTaken(api, "/data-sources", DATA_SOURCES);
  const isKnown = succeeded(source.answer);
  const answered = { ...(await creates(api, app)), ...(await lists(api)), ...(await errors(api)) };
  const deleted = await api.delete(`/apps/${id}`);
  const says = {
    ...answered,
    deploy: `answers a deployment with ${deployment.answer.status}, to ${deployment.body.environment}`,
    data_source: isKnown
      ? `takes a data source of ${Object.keys(source.body).join(", ")}`
      : "takes no body of a data source that is known here",
    delete: `answers a delete with ${deleted.status} and ${deleted.text === "" ? "no body" : "a body"}`,
    webhooks,
    ...(hookless === undefined && {
      delivery: await delivery(hub, inbox, began, succeeded(deployment.answer)),
    }),
  };
  const pageSize = succeeded(await api.get("/apps?limit=100")) ? 100 : 20;
  const dataSource = isKnown ? source.body : undefined;
  return { app: app.body, deployment: deployment.body, dataSource, hookless, pageSize, says };
}

interface Tried {
  readonly body: Members;
  readonly answer: Answer;
}

/** Returns the first accepted body, or else the first one, with its response. */
async function firstTaken(
  api: Client,
  path: string,
  [body = {}, ...others]: readonly Members[],
): Promise<Tried> {
  const one = { body, answer: await api.post(path, body) };
  if (succeeded(one.answer) || others.length === 0) return one;
  const other = await firstTaken(api, path, others);
  return succeeded(other.answer) ? other : one;
}

/** `otherwise` on success, or else a sentence about the error. */
const does = (answer: Answer, otherwise: string) =>
  succeeded(answer) ? otherwise : `refuses with ${answer.status}`;

async function creates(api: Client, { body, answer }: Tried) {
  const extra = await api.post("/apps", { ...body, colour: "red" });
  const made = objectIn(extra.text);
  if (succeeded(extra)) await api.delete(`/apps/${made.id}`);
  return {
    create: `answers a create with ${answer.status}`,
    unknown_members: `${does(extra, "colour" in made ? "keeps" : "ignores")} a member that it does not know`,
  };
}

const OF_LISTS = /total|count|rate-?limit/i;

async function lists(api: Client) {
  const answer = await api.get("/apps?limit=1");
  const headers = Object.keys(answer.headers).filter((name) => OF_LISTS.test(name));
  const beyond = await api.get(`/apps?limit=${BEYOND}`);
  const { limit = BEYOND } = objectIn(beyond.text);
  return {
    list: answer.text.startsWith("[")
      ? "answers a list as a bare array"
      : `wraps a list with ${Object.keys(objectIn(answer.text)).join(", ")}`,
    list_headers: `sends with a list ${headers.join(", ") || "no headers about it"}`,
    limit: `${does(beyond, limit === BEYOND ? "takes" : `cuts to ${limit}`)} a limit of ${BEYOND}`,
  };
}

async function errors(api: Client) {
  const [denied, invalid] = [await api.as(null).get("/apps"), await api.post("/apps", {})];
  const missing = await api.delete("/apps/app_unknown0000000000000000");
  const names = Object.keys(objectIn(denied.text)).join(", ");
  return {
    error: `reports an error as ${denied.headers["content-type"]} with ${names || "no members"}`,
    validation: `answers ${invalid.status} to an app without any field`,
    missing: `answers ${missing.status} for an app that does not exist`,
  };
}

/** Checks whether webhooks can reach the address where the kit listens. */
async function hooks(api: Client, hub: Hub) {
  const inbox = hub.open();
  const webhook = { events: ["app.deployed"], secret: randomUUID() };
  const { status } = await api.post("/webhooks", { ...webhook, url: inbox.url, active: true });
  const { protocol, origin } = new URL(inbox.url);
  const elsewhere = { ...webhook, url: "https://hooks.example.com/in", active: false };
  // An implementation that rejects every webhook is a failure for the clauses, not a reading of a gap.
  const isChoosy = status >= 300 && succeeded(await api.post("/webhooks", elsewhere));
  const isFar = !hub.isPublic && !isLoopbackHost(new URL(api.baseUrl).hostname);
  const why = isChoosy
    ? `it answers ${status} to webhooks that lead to ${origin}`
    : "it is not on this machine";
  const hookless =
    isChoosy || isFar ? `${why}: give --receiver-url and --receiver-port` : undefined;
  const webhooks = `${status < 300 ? "takes" : "refuses"} webhooks that lead to ${protocol}//, with ${status}`;
  return { inbox, hookless, webhooks };
}

/** Measures the delay of the first event; without one, no clause waits long for its events. */
async function delivery(hub: Hub, inbox: Inbox, began: number, isDeployed: boolean) {
  const [first] = isDeployed ? await inbox.arrived(() => true).catch(orNothing) : [];
  if (first !== undefined) return `delivers an event within ${Math.ceil(first.at - began)} ms`;
  hub.hurry();
  return "delivers no event";
}
