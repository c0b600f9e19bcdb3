// The reference of endpoints and events in /docs, built from the route table and the event samples. It marks whether the
// specification or a decision of this project shows an operation.
import { EVENTS_WITHOUT_ACCOUNT, sampleObject } from "../../domain/events.ts";
import { EVENT_TYPES, type EventType } from "../../domain/model.ts";
import { PATHS } from "../../http/message.ts";
import type { Operation } from "../../http/operation.ts";
import { AdjustableClock, DURATION_UNITS, parseIso } from "../../lib/clock.ts";
import { seededRandom, TimeOrderedIds } from "../../lib/ids.ts";
import type { JsonSchema } from "../../lib/schema.ts";
import { getMembers } from "../form.ts";
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
import type { DocsPage, Entry } from "./page.ts";

const timestamp = "2026-03-14T09:26:53.589Z";

const getResource = ({ path }: Operation): string => path.split("/")[1] ?? "";

export function endpointsPage(deps: WebDeps): DocsPage {
  const { services, operations } = deps;
  const resources = [...new Set(operations.map(getResource))];
  return {
    lead: `All paths are below \`${services.urls.baseUrl}\`, and all bodies are JSON. The same for programs: [openapi.json](${PATHS.openapi}).`,
    sections: resources.map((resource) => ({
      title: resource,
      entries: operations
        .filter((route) => getResource(route) === resource)
        .map((route) => endpointEntry(route, deps)),
    })),
  };
}

function endpointEntry(route: Operation, { services }: WebDeps): Entry {
  const { method, path, operationId, summary, decision, scope, example, status, serializer } =
    route;
  const decisionUrl = `${PATHS.docs}/tour/${decision?.[0]}#decision-${decision}`;
  const origin = decision ? link(decisionUrl, "our decision", "badge") : badge("specification");
  const access = scope === null ? "Any credential will do." : `Requires the scope ${scope}.`;
  const shellPath = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const request = curl(`${method} ${services.urls.baseUrl}${shellPath}`, { body: example });
  const result = serializer?.kind === "page" ? "Each item of the list" : "Response";
  return {
    id: operationId,
    name: summary,
    term: html`<span class="method ${method}">${method}</span> ${inlineCode(path)}`,
    meaning: html`<p>${summary}. ${origin} ${access} Returns ${inlineCode(status)}.</p>
${fields("Query", route.query?.json)}${fields("Body", route.body?.(services).json)}${code(request)}
${fields(result, serializer?.json)}`,
  };
}

/** Lists the members of a schema and their rules. */
function fields(caption: string, schema: JsonSchema = {}): Renderable {
  const items = getMembers(schema).map(({ name, schema, isRequired }) => [
    inlineCode(name),
    ` – ${describeRules(schema)}`,
    isRequired && ", required",
  ]);
  return items.length > 0 && html`<p>${caption}:</p>${list(items)}`;
}

/** Describes a schema in words: "string, at most 200 characters". */
function describeRules({
  type,
  enum: values,
  items,
  maxLength,
  maximum,
  ...rest
}: JsonSchema): string {
  const rules = [
    values ? `one of ${values.join(", ")}` : [type ?? "object or null"].flat().join(" or "),
    items && `of ${describeRules(items)}`,
    maxLength && `at most ${maxLength} characters`,
    maximum && `at most ${maximum}`,
    rest.default !== undefined && `default ${JSON.stringify(rest.default)}`,
  ];
  return rules.filter(Boolean).join(", ");
}

/** Returns a request to paste into a shell. `target` is its method and URL. */
export function curl(
  target: string,
  { body, token = "API_KEY" }: { readonly body?: unknown; readonly token?: string | null },
): string {
  const [method, url] = target.split(" ");
  const lines = [`curl -X ${method} "${url}"`];
  if (token !== null) lines.push(`-H "Authorization: Bearer $${token}"`);
  if (body !== undefined)
    lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(body)}'`);
  return lines.join(" \\\n  ");
}

/** A separate generator, so that samples use no ids of the running server. */
const ids = new TimeOrderedIds(new AdjustableClock(parseIso(timestamp)), seededRandom("samples"));
const account = { id: ids.next("acc_"), name: "Example account" };

const sampleEvent = (type: EventType) => ({
  id: ids.next("evt_"),
  type,
  created: timestamp,
  data: { object: sampleObject({ ids, timestamp }, type) },
  account: EVENTS_WITHOUT_ACCOUNT.has(type) ? undefined : account,
});

export function eventsPage({ retryWaits_ms }: WebDeps): DocsPage {
  const types = EVENT_TYPES.map((type) => ({ id: type, meaning: json(sampleEvent(type)) }));
  const waits = retryWaits_ms.map(formatDuration).join(", ");
  return {
    lead: "An event is recorded in the same transaction as its change and sent to every active webhook that subscribes to its type. A request that changes nothing emits no event. Processing emits one whether it succeeds or fails; `status` says which.",
    sections: [
      { title: "Event types", entries: types },
      {
        title: "Receiving deliveries",
        body: [
          list(RULES.map(inlineMarkdown), "ol"),
          code(RECEIVER),
          paragraph(HEADERS),
          paragraph(STANDARD_WEBHOOKS),
          paragraph(RETRIES.replace("<waits>", waits)),
          paragraph(CERTIFICATES),
        ],
      },
    ],
  };
}

/** Formats a duration in its largest whole unit. */
function formatDuration(duration_ms: number): string {
  const [name = "ms", unit_ms = 1] =
    [...DURATION_UNITS].findLast(([, unit_ms]) => duration_ms % unit_ms === 0) ?? [];
  return `${duration_ms / unit_ms} ${name}`;
}

const RULES = [
  "Be reachable over HTTPS. Under the webhook policy `local` the server also sends http to the same machine and to private networks.",
  "Verify the signature first. `X-Service-Signature` is `sha256=` and the HMAC-SHA256 of the raw body in lower-case hexadecimal, keyed with the webhook's secret. Compare in constant time, and respond with 401 if it differs.",
  "Respond with 2xx within 30 seconds. Store the event and process it afterwards.",
  "Expect an event more than once. Remember the `id` of each event, and respond with 2xx to a repeated one.",
  "Do not rely on the order. Sort events by `created` and `id`.",
];

const HEADERS =
  "A delivery also has the event type in `X-Service-Event`, an id that is the same at every attempt in `X-Service-Delivery`, and the number of the attempt, from 1, in `X-Service-Attempt`.";

const STANDARD_WEBHOOKS =
  "Libraries for Standard Webhooks verify `webhook-id`, `webhook-timestamp` (the real time of sending, except with `--random-seed`) and `webhook-signature`. Generated secrets have their form, `whsec_` and base64, and work there unchanged: `new Webhook(secret)`. Any other secret is used there as raw bytes. `X-Service-Signature` always uses the whole text of the secret.";

const RETRIES =
  "Any response but 2xx is retried after <waits>, each 20 % more or less. `Retry-After` with 429 or 503 makes a wait longer. 410 switches the webhook off. Redirects are not followed. The dashboard shows every attempt under Settings, Webhooks.";

const CERTIFICATES =
  "The receiver's certificate must be signed by one of Node's root certificates. To trust another CA, set `NODE_EXTRA_CA_CERTS` to its PEM file and restart the server. `error_detail` of an attempt says which check failed.";

const RECEIVER = `const { createHmac, timingSafeEqual } = require("node:crypto");
const seen = new Set();

require("node:http").createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  const mac = createHmac("sha256", process.env.WEBHOOK_SECRET).update(body).digest("hex");
  const expected = Buffer.from("sha256=" + mac);
  const signature = Buffer.from(request.headers["x-service-signature"] ?? "");
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {
    return response.writeHead(401).end();
  }
  const event = JSON.parse(body);
  if (!seen.has(event.id)) console.log(event.type, event.data.object);
  seen.add(event.id);
  response.writeHead(204).end();
}).listen(4700);`;
