// How an implementation reads what the specification leaves open, found out by trying, before anything is judged. Telling
// the choices apart is a result and never a failure; the clauses send and read what is found here.
import { randomUUID } from "node:crypto";
import { type Answer, type Client, isMembers, type Members } from "../../test/support/client.ts";
import type { Hub } from "../../test/support/hub.ts";
import { freshHost, succeeded } from "../../test/support/shown.ts";

export interface Profile {
  /** A body of POST /apps that is taken: all four fields. */
  readonly app: Members;
  /** The same of a deployment. */
  readonly deployment: Members;
  /** A body of POST /data-sources that is taken, where one was found. */
  readonly dataSource: Members | undefined;
  /** Why no webhook can lead to the kit. */
  readonly hookless: string | undefined;
  /** How many apps a request for a list may ask for. */
  readonly pageSize: number;
  /** In plain sentences. */
  readonly says: readonly string[];
}

const APP = { title: "Sales", description: "By region", public: true } as const;
const THEMES = ["light", "dark", "default", "blue"] as const;
const ENVIRONMENTS = ["production", "staging", "prod", "live"] as const;
const ROWS = "region,revenue\nNorth,5\n";
/** What services of this kind take; the specification shows nothing. */
const DATA_SOURCES: readonly Members[] = [
  { name: "Orders", type: "csv", data: ROWS },
  { name: "Orders", type: "csv", content: ROWS },
  { name: "Orders", type: "json", data: [{ region: "North", revenue: 5 }] },
  { name: "Orders", type: "postgres", url: "postgres://db.example.com/orders" },
  { name: "Orders", type: "http", url: "https://data.example.com/orders.csv" },
  { name: "Orders", type: "csv" },
  { name: "Orders" },
];

/** The first of the bodies that is taken, or the first of all, with its answer. */
async function firstTaken(api: Client, path: string, bodies: readonly Members[]) {
  let first: { readonly body: Members; readonly answer: Answer } | undefined;
  for (const body of bodies) {
    const tried = { body, answer: await api.post(path, body) };
    if (succeeded(tried.answer)) return tried;
    first ??= tried;
  }
  return first ?? { body: {}, answer: await api.post(path) };
}

const jsonOf = (answer: Answer): unknown => {
  try {
    return answer.value;
  } catch {
    return undefined;
  }
};

export async function profiled(api: Client, hub: Hub): Promise<Profile> {
  const says: string[] = [];
  const app = await firstTaken(
    api,
    "/apps",
    THEMES.map((theme) => ({ ...APP, theme })),
  );
  says.push(`answers a create with ${app.answer.status}`);
  const made = jsonOf(app.answer);
  const id = isMembers(made) ? String(made.id) : "";
  const deployment = await firstTaken(
    api,
    `/apps/${id}/deploy`,
    ENVIRONMENTS.map((environment) => ({ name: "Release 1", custom_domain: freshHost(), environment })),
  );
  const source = await firstTaken(api, "/data-sources", DATA_SOURCES);
  const url = hub.open().url;
  const webhook = { url, events: ["app.updated"], secret: randomUUID(), active: false };
  const hook = await api.post("/webhooks", webhook);
  const pageSize = succeeded(await api.get("/apps?limit=100")) ? 100 : 20;
  return {
    app: app.body,
    deployment: deployment.body,
    dataSource: succeeded(source.answer) ? source.body : undefined,
    hookless: succeeded(hook)
      ? undefined
      : "it refuses webhooks to http://127.0.0.1: give --receiver-url and --receiver-port",
    pageSize,
    says,
  };
}
