// The endpoints and events in /docs. Endpoints come from the route table, as the OpenAPI document does; the
// specification's content and this project's choices are marked apart. Events (spec part 6) include how to receive
// them. Sample events come from the code for test deliveries, sample responses from their schemas.
import { buildEnvelope, sampleObject } from "../../domain/events.ts";
import { EVENT_TYPES, type EventType } from "../../domain/model.ts";
import { API } from "../../http/api.ts";
import type { AppContext, Operation as Row } from "../../http/route.ts";
import { listEnvelope } from "../../http/serializers.ts";
import { PATHS } from "../../http/urls.ts";
import { AdjustableClock, DURATION_UNITS, parseIso, toIso } from "../../lib/clock.ts";
import { seededRandom, TimeOrderedIds } from "../../lib/ids.ts";
import type { JsonSchema } from "../../lib/schema.ts";
import { membersOf } from "../form.ts";
import {
  badge,
  code,
  html,
  inlineCode,
  inlineMarkdown,
  json,
  link,
  list,
  paragraph,
  type Renderable,
} from "../html.ts";
import type { WebDeps } from "../session.ts";

export function endpoints({ services, operations }: WebDeps) {
  const { baseUrl } = services.urls;
  const groupOf = ({ path }: Row) => path.split("/")[1] ?? "";
  return {
    lead: `All paths are below \`${baseUrl}\`; bodies are JSON. The same as a file for machines: [openapi.json](/openapi.json).`,
    sections: [...new Set(operations.map(groupOf))].map((id) => {
      const own = operations.filter((row) => groupOf(row) === id);
      return [id, id, null, own.map((row) => endpoint(row, services))] as const;
    }),
  };
}

function endpoint(row: Row, services: AppContext) {
  const {
    method,
    path,
    operationId: operation,
    summary,
    decision: gap,
    scope,
    status,
    query,
    example,
  } = row;
  const choice = `${PATHS.docs}/register#decision-${gap}`;
  const origin = gap === undefined ? badge("specification") : link(choice, "our choice", "badge");
  const url =
    services.urls.baseUrl +
    path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const sample = sampleAnswer(row, services);
  const meaning = html`<p>${summary}. ${origin} ${scope === null ? "Any credential will do." : `Takes the scope ${scope}.`}</p>
${rules("Query", query.json)}${rules("Body", row.body?.(services).json)}${code(curl(`${method} ${url}`, { body: example }))}
<p>Answers <code>${status}</code>${!sample && " without a body"}</p>${sample && json(sample)}`;
  return [
    operation,
    meaning,
    summary,
    html`<span class="method ${method}">${method}</span> ${inlineCode(path)}`,
  ] as const;
}

/** Builds a sample response from its schema and from the request examples of the same resource. */
function sampleAnswer(
  { serializer: view, shownOnce: once = {}, example }: Row,
  { decide }: AppContext,
): object | undefined {
  if (view === undefined) return undefined;
  const { kind, name, json } = view;
  const alike = API.routes.find(
    (row) => row.serializer?.kind === "one" && row.serializer.name === name && row.example,
  );
  const secrets = Object.fromEntries(Object.keys(once).map((each) => [each, "…"]));
  const known = {
    ...alike?.example,
    ...example,
    ...(name === "Event" && sampleEvent("user.interaction")),
  };
  const one = { ...Object(buildSample(json, known)), ...secrets };
  const page = { items: JSON.stringify([one]), total: 1, limit: 20, offset: 0 };
  return kind === "page" ? JSON.parse(listEnvelope(decide)(page)) : one;
}

/** Shows each member with its JSON Schema, which states its rules more exactly than prose. */
function rules(caption: string, schema: JsonSchema = {}): Renderable {
  if (schema.oneOf) return schema.oneOf.map((each) => rules(caption, each));
  const members = membersOf(schema).map(
    ([name, member, required]) =>
      html`${inlineCode(name)}${required && html` <strong>required</strong>`} <code class="soft">${JSON.stringify(member)}</code>`,
  );
  return members.length > 0 && html`<p>${caption}:</p>${list(members)}`;
}

/** Returns a request to paste into a shell; `at` is its method and URL, and `$NAME` in the body is a shell variable. */
export function curl(
  at: string,
  { body, token = "API_KEY" }: { body?: unknown; token?: string | null },
): string {
  const [method, url] = at.split(" ");
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}"${url}"`];
  if (token !== null) lines.push(`-H "Authorization: Bearer $${token}"`);
  if (body === undefined) return lines.join(LINE);
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  const filled = quoted.replace(/\$[A-Z_]+/g, `'"$&"'`);
  return [...lines, '-H "Content-Type: application/json"', `-d '${filled}'`].join(LINE);
}

const LINE = " \\\n  ";

export function events({ retryWaits_ms }: WebDeps) {
  return {
    lead: "An event is recorded together with the change that it tells of, and sent to every active webhook of the account that names its type. A change that changes nothing is no event; data that could not be processed are one, too: status says which.",
    sections: [
      [
        "types",
        "Types of events",
        null,
        EVENT_TYPES.map((type) => [type, json(sampleEvent(type))] as const),
      ],
      ["receiver", "Receiving deliveries", receiving(retryWaits_ms)],
    ] as const,
  };
}

const SAMPLE_TIME = parseIso("2026-03-14T09:26:53.589Z");
const at = toIso(SAMPLE_TIME);
/** A separate generator, so that samples use no ids of the running server. */
const ids = new TimeOrderedIds(new AdjustableClock(SAMPLE_TIME), seededRandom("samples"));
const OWNER = { id: ids.next("acc_"), name: "Example account", state: "active" } as const;

const sampleEvent = (type: EventType) =>
  buildEnvelope({ ids, timestamp: at }, OWNER, type, sampleObject({ ids, timestamp: at }, type));

/** Returns a value that fits a response schema, with `known` members filled in; nullable members are null. */
function buildSample(
  schema: JsonSchema,
  known: { readonly [name: string]: unknown } = {},
): unknown {
  const { type, format, pattern = "", items, minimum, anyOf, enum: words } = schema;
  const members = membersOf(schema);
  const [prefix] = /(?<=^\^)\w+_/.exec(String(pattern)) ?? [];
  if (words) return words[0];
  if (anyOf || Array.isArray(type)) return null;
  if (prefix !== undefined) return ids.next(prefix);
  if (members.length > 0)
    return Object.fromEntries(
      members.map(([name, each]) => [name, name in known ? known[name] : buildSample(each)]),
    );
  if (type === "object") return { "…": null };
  if (type === "array") return [buildSample(items ?? {})];
  if (type === "integer") return minimum;
  if (type === "boolean") return true;
  return format === "date-time"
    ? at
    : format === "uri"
      ? "https://apps.example.com/sites/dep_…/"
      : "…";
}

const RULES = [
  "Be reachable over HTTPS. Under the webhook policy `local` the server also sends by http to the same machine and to private networks.",
  "Check the signature first. `X-Service-Signature` is sha256= and the HMAC-SHA256 of the raw body in lower-case hexadecimal, keyed with the webhook’s secret. Compare in constant time and answer 401 where it differs.",
  "Answer 2xx within 30 seconds. Store the event and work on it afterwards.",
  "Expect an event more than once. Remember the `id` of each event that you have dealt with, and answer 2xx to those that you know.",
  "Do not count on the order. `created` and the event’s id put events in order.",
];

const HEADERS =
  "Beside the signature a delivery carries the event’s type in `X-Service-Event`, an id that is the same at every attempt in `X-Service-Delivery`, and `X-Service-Attempt`, which counts from 1.";

const STANDARD =
  "Libraries for Standard Webhooks verify `webhook-id`, `webhook-timestamp` (the real time of sending) and `webhook-signature`. A secret of the form `whsec_` and base64, as the server makes them, works there unchanged: `new Webhook(secret)`. Any other secret is keyed there with its raw bytes. `X-Service-Signature` always uses the whole text of the secret.";

const CERTIFICATES =
  "The certificate of a receiver is checked against Node’s roots. To trust another CA, set `NODE_EXTRA_CA_CERTS` to the file of its certificate (PEM) and restart the server. An attempt’s `error_detail` says which check failed.";

const AGAIN =
  "Anything but 2xx is tried again, after <waits>, each 20 % more or less. `Retry-After` with 429 or 503 makes a wait longer. 410 switches the webhook off at once. Redirects are not followed. The dashboard shows every attempt under Settings, Webhooks.";

const receiving = (waits_ms: readonly number[]) => [
  list(RULES.map(inlineMarkdown), "ol"),
  code(EXAMPLE),
  paragraph(HEADERS),
  paragraph(STANDARD),
  paragraph(AGAIN.replace("<waits>", waits_ms.map(formatWait).join(", "))),
  paragraph(CERTIFICATES),
];

/** Formats a duration in its largest whole unit. */
function formatWait(wait_ms: number): string {
  const [name, ms] = [...DURATION_UNITS].findLast(([, unit_ms]) => wait_ms % unit_ms === 0) ?? [
    "ms",
    1,
  ];
  return `${wait_ms / ms} ${name}`;
}

const EXAMPLE = `const { createHmac, timingSafeEqual } = require("node:crypto");
const seen = new Set();

require("node:http").createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  const mac = createHmac("sha256", process.env.WEBHOOK_SECRET).update(body).digest("hex");
  const expected = Buffer.from("sha256=" + mac);
  const sent = Buffer.from(request.headers["x-service-signature"] ?? "");
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return response.writeHead(401).end();
  const event = JSON.parse(body);
  if (!seen.has(event.id)) console.log(event.type, event.data.object);
  seen.add(event.id);
  response.writeHead(204).end();
}).listen(4700);`;
