// The reference of the endpoints in /docs, built from the route table: one page for each group of paths. It marks whether
// the specification or a decision of this project shows an operation.
import type { ErrorCode } from "../../domain/errors.ts";
import type { Operation } from "../../http/operation.ts";
import { CODES, PROBLEMS } from "../../http/problem.ts";
import type { JsonSchema } from "../../lib/schema.ts";
import { getMembers } from "../form.ts";
import { badge, html, inlineCode, inlineMarkdown, link, list, type Renderable } from "../html.ts";
import type { WebDeps } from "../session.ts";
import { type Doc, exchange, split } from "./page.ts";
import { sampleResponse } from "./samples.ts";

/** The groups by their first path segment: title and introduction. */
const GROUPS = {
  apps: [
    "Apps",
    "An app shows data as charts. Create it, deploy it to an environment, and report how its users interact with it.",
  ],
  "data-sources": [
    "Data sources",
    "A data source is a table that apps show. Upload CSV or JSON; processing finds the columns and their types.",
  ],
  webhooks: [
    "Webhooks",
    "A webhook receives events by POST. Its deliveries can be read and sent again. [Events](/docs/events) says how to receive them.",
  ],
  events: [
    "Event log",
    "Every event of the account can be read here, whether or not a webhook received it.",
  ],
  users: ["Users", "Users sign in to the dashboard and allow applications to act for them."],
  "api-keys": ["API keys", "An API key has full access to the account."],
  "oauth-clients": [
    "OAuth clients",
    "An OAuth client is an application that acts for users of the account, as far as each user allows.",
  ],
  account: ["Account", "A client can read whose credential it has."],
} as const;

export const endpointsDoc = (deps: WebDeps): Doc => ({
  title: "Endpoints",
  path: "/docs/endpoints",
  lead: `All paths are below \`${deps.routeDeps.urls.baseUrl}\`. Bodies are JSON. The same for programs: [openapi.json](/openapi.json).`,
  sections: [],
  pages: Object.entries(GROUPS).map(([group, [title, lead]]) => ({
    title,
    path: `/docs/endpoints/${group}`,
    lead,
    sections: deps.operations
      .filter(({ path }) => path.split("/")[1] === group)
      .map((route) => [route.summary, describeOperation(route, deps)]),
  })),
});

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
  const errors = findErrors(route).map((code) => {
    const [status, title] = PROBLEMS[code];
    return `${status} [${code}](/docs/errors#${code}) ${title}.`;
  });
  const facts = [
    scope === null ? "Any credential will do." : `Requires the scope \`${scope}\`.`,
    fields("Query", query?.json),
    fields("Body", body?.(routeDeps).json),
    readsOne(route) && fields("Response", serializer?.json, false),
    html`<h3>Errors</h3>`,
    list([...errors, "Those of [any endpoint](/docs/errors#all-codes)."].map(inlineMarkdown)),
  ];
  return [
    html`<p class="row"><span class="method ${method}">${method}</span> ${inlineCode(path)} ${origin}</p>`,
    split(facts, exchange(request, sampleResponse(route, deps))),
  ];
}

const readsOne = ({ method, serializer }: Operation): boolean =>
  method === "GET" && serializer?.kind === "one";

/** The errors of an endpoint beyond those of any endpoint. */
function findErrors(route: Operation): readonly ErrorCode[] {
  const { method, path, body, errorCodes = [] } = route;
  const codes: ErrorCode[] = [...errorCodes];
  if (path.includes("{")) codes.push("not_found");
  if (body) codes.push("invalid_json", "unsupported_media_type", "validation_failed");
  if (body || method === "POST") codes.push("payload_too_large");
  if (method === "POST") codes.push("idempotency_in_progress", "idempotency_key_reused");
  if (/PATCH|DELETE/.test(method) || readsOne(route)) codes.push("precondition_failed");
  return CODES.filter((code) => codes.includes(code));
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

/** Describes a schema in words: "string, required, 1 to 200 characters". */
function describe(schema: JsonSchema, isRequired = false): string {
  const { type, anyOf, enum: values, items, format, maxLength, maxItems, maximum } = schema;
  const kinds = Array.isArray(anyOf) ? anyOf.map((each) => describe(each)) : [type].flat();
  const kind = items ? `array of ${describe(items)}` : kinds.join(" or ");
  const rules = [
    values ? `one of \`${values.join("`, `")}\`` : kind,
    format && String(format).replace("idn-", ""),
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
