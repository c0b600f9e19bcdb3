// The reference of the endpoints in /docs, built from the route table: one page for each group of paths, with samples in
// the form of real responses. It marks whether the specification or a decision of this project shows an operation.
import { EVENTS_WITHOUT_ACCOUNT, sampleObject } from "../../domain/events.ts";
import type { EventType } from "../../domain/model.ts";
import { findErrorCodes, isSingleRead } from "../../http/openapi.ts";
import type { Operation } from "../../http/operation.ts";
import { PROBLEMS } from "../../http/problem.ts";
import type { JsonSchema } from "../../lib/schema.ts";
import { getMembers } from "../form.ts";
import {
  badge,
  code,
  html,
  inlineCode,
  inlineMarkdown,
  link,
  list,
  type Renderable,
} from "../html.ts";
import type { WebDeps } from "../session.ts";
import { type Doc, split, toAnchor } from "./page.ts";

/** The groups by title, which is also their first path segment. */
const GROUPS = {
  Apps: "An app shows data as charts. Create it, deploy it to an environment, and report how its users interact with it.",
  "Data sources":
    "A data source is a table that apps show. Upload CSV or JSON; processing finds the columns and their types. A chart draws the first column of numbers over the first column of times, or else of names. A further column of at most eight names gives each of them a color.",
  Webhooks:
    "A webhook receives events by POST. Its deliveries can be read and sent again. [Receiving events](/docs/events) says how to receive them.",
  Events: "Every event of the account can be read here, whether or not a webhook received it.",
  Users: "Users sign in to the dashboard and allow applications to act for them.",
  "API keys": "An API key has full access to the account.",
  "OAuth clients":
    "An OAuth client is an application that acts for users of the account, as far as each user allows.",
  Account: "A client can read whose credential it has.",
};

export function endpointsDoc(deps: WebDeps): Doc {
  const pages = Object.entries(GROUPS).map(([title, lead]) => {
    const group = toAnchor(title);
    const path = `/docs/endpoints/${group}`;
    const operations = deps.operations.filter((each) => each.path.split("/")[1] === group);
    return {
      title,
      path,
      lead,
      contents: list(
        operations.map((each) => [
          link(`${path}#${toAnchor(each.summary)}`, each.summary),
          " ",
          inlineCode(`${each.method} ${each.path}`),
        ]),
      ),
      sections: operations.map((each) => [each.summary, describeOperation(each, deps)] as const),
    };
  });
  return {
    title: "Endpoints",
    path: "/docs/endpoints",
    lead: "All paths are below `/v1`. Bodies are JSON. The requests use shell variables for the API key and for ids: `export API_KEY=… APP_ID=app_…`. The same for programs: [openapi.json](/openapi.json).",
    sections: [],
    pages,
  };
}

function describeOperation(route: Operation, deps: WebDeps): Renderable {
  const { method, path, decision, scope, example, query, body, serializer } = route;
  const { routeDeps } = deps;
  const origin = decision
    ? link(`/docs/tour/${decision[0]}#decision-${decision}`, "our decision", "badge")
    : badge("specification");
  const shellPath = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const request = curl(
    `${method} ${routeDeps.urls.baseUrl}${shellPath}`,
    example && JSON.stringify(example, null, 2),
  );
  const errors = findErrorCodes(route).map((code) => {
    const [status, title] = PROBLEMS[code];
    return `${status} [${code}](/docs/errors#${code}) ${title}.`;
  });
  const facts = [
    scope === null ? "Any credential will do." : `Requires the scope \`${scope}\`.`,
    fields("Query", query?.json),
    fields("Body", body?.json),
    isSingleRead(route) && fields("Response", serializer?.json, false),
    html`<h3>Errors</h3>`,
    list([...errors, "Those of [any endpoint](/docs/errors#all-codes)."].map(inlineMarkdown)),
  ];
  return [
    html`<p class="row"><span class="badge ${method}">${method}</span> ${inlineCode(path)} ${origin}</p>`,
    split(facts, [code(request), code(sampleResponse(route, deps))]),
  ];
}

/** Lists the members of an object with their rules, and their own members indented. */
function fields(title: string, schema: JsonSchema = {}, isInput = true): Renderable {
  const items = getMembers(schema).map(({ name, schema, isRequired }) => [
    inlineCode(name),
    html` <small>${inlineMarkdown(describe(schema, isInput && isRequired))}</small>`,
    fields("", schema.items ?? schema, isInput),
  ]);
  return items.length > 0 && [title && html`<h3>${title}</h3>`, list(items)];
}

/** The formats of JSON Schema in words. */
const FORMATS = new Map([
  ["date-time", "ISO 8601 time"],
  ["idn-email", "e-mail address"],
  ["idn-hostname", "host name"],
  ["uri", "URL"],
]);

/** Describes a schema in words: "string, required, 1 to 200 characters". */
function describe(schema: JsonSchema, isRequired = false): string {
  const { type, anyOf, enum: values, items, format, maxLength, maxItems, maximum } = schema;
  const kinds = Array.isArray(anyOf) ? anyOf.map((each) => describe(each)) : [type].flat();
  const kind = items ? `array of ${describe(items)}` : kinds.join(" or ");
  const rules = [
    values ? `one of \`${values.join("`, `")}\`` : kind,
    FORMATS.get(String(format)),
    isRequired && "required",
    maxLength && `${schema.minLength} to ${maxLength} characters`,
    maxItems && `${schema.minItems} to ${maxItems} items`,
    Number(maximum) < Number.MAX_SAFE_INTEGER && `${schema.minimum} to ${maximum}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ];
  return rules.filter(Boolean).join(", ");
}

/** Returns a request to paste into a shell. `target` is its method and URL, `body` is JSON. */
export function curl(target: string, body?: string, credential = true): string {
  const [method, url] = target.split(" ");
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}"${url}"`];
  if (credential) lines.push('-H "Authorization: Bearer $API_KEY"');
  if (body) lines.push('-H "Content-Type: application/json"', `-d '${body}'`);
  return lines.join(" \\\n  ");
}

const timestamp = "2026-03-14T09:26:53.589Z";
const secret = "4fT0qLr8ZsW2kVx6NbYc1MhJd7GpUa9EwQi3RoKt5Xy";
/** All ids end alike, so that the examples of a page belong together. */
const ids = { next: (prefix: string) => `${prefix}0VN4t8Kq200Xw7RbLm5cYdT`, secret: () => secret };
const account = { id: ids.next("acc_"), name: "Example account" };

export const sampleEvent = (type: EventType) => ({
  id: ids.next("evt_"),
  type,
  created: timestamp,
  data: { object: sampleObject({ ids, timestamp }, type) },
  account: EVENTS_WITHOUT_ACCOUNT.has(type) ? undefined : account,
});

/** Values that neither the schema nor the example of a request gives, by operation or resource. */
const VALUES: { readonly [name: string]: object } = {
  Account: account,
  ApiKey: { last_four: "t5Xy", key: "ahs_4fT0qLr8ZsW2kVx6NbYc1MhJd7GpUa9EwQi3RoKt5Xy" },
  DataSource: sampleObject({ ids, timestamp }, "data.processed"),
  createDataSource: {},
  DataSourceRow: { region: "North", revenue: 48_250 },
  Delivery: {
    attempts: [
      {
        number: 1,
        trigger: "schedule",
        at: timestamp,
        duration_ms: 24,
        response_status: 500,
        response_body: "out of memory",
        error: "status",
        error_detail: null,
      },
    ],
    next_attempt_at: timestamp,
  },
  testWebhook: { attempts: [] },
  Deployment: { url: "https://hosting.example.com/sites/dep_0VN4t8Kq200Xw7RbLm5cYdT/" },
  Event: sampleEvent("user.interaction"),
  OAuthClient: { client_secret: secret },
  Webhook: { secret: "whsec_4fT0qLr8ZsW2kVx6NbYc1MhJd7GpUa9EwQi3RoKt" },
};

/** Returns the response to the operation's example request. */
function sampleResponse(route: Operation, { operations, variants }: WebDeps): string {
  const { serializer, operationId, example, status, shownOnce } = route;
  if (serializer === undefined) return `HTTP/1.1 ${status}`;
  const { name, json, kind } = serializer;
  const create = operations.find((each) => each.serializer?.name === name && each.example);
  const examples = [VALUES[operationId] ?? VALUES[name], create?.example, example];
  const values = Object.assign({}, ...examples);
  const schemas = { ...(json.properties ?? values), ...(shownOnce && { [shownOnce]: {} }) };
  const members = Object.keys(schemas).map((member) => [
    member,
    member in values ? values[member] : toValue(schemas[member]),
  ]);
  const record = Object.fromEntries(members);
  const page = { data: [record], total: 1, limit: 20, offset: 0 };
  const list = variants["list-shape"] ? page.data : page;
  return `HTTP/1.1 ${status}\n\n${JSON.stringify(kind === "page" ? list : record, null, 2)}`;
}

/** Returns null if the schema allows it. Nullable enumerations have no type. */
function toValue({ type = null, enum: values, pattern }: JsonSchema): unknown {
  if (String(type).includes("null")) return null;
  const [prefix] = /\w+_/.exec(String(pattern)) ?? [];
  return values?.[0] ?? (prefix ? ids.next(prefix) : timestamp);
}
