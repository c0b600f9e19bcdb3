// Events and how to receive them, in /docs (spec part 6). The samples are made by what makes the test deliveries; those of
// other answers from their schemas.

import { objectOf, sampleObject } from "../../domain/events.ts";
import { EVENT_TYPES, type EventType } from "../../domain/model.ts";
import type { Decide } from "../../domain/readings.ts";
import { AdjustableClock, iso, UNITS } from "../../kit/clock.ts";
import { seededRandom, TimeOrderedIds } from "../../kit/ids.ts";
import type { JsonSchema } from "../../kit/schema.ts";
import { isSchema, membersOf } from "../form.ts";
import { type Html, html } from "../html.ts";
import { code, json, list, prose } from "../parts.ts";
import type { WebParts } from "../visit.ts";

export const events = ({ retryWaits_ms, services: { decide } }: WebParts) => ({
  lead: "An event is recorded together with the change that it tells of, and sent to every active webhook of the account that names its type. A change that changes nothing is no event; data that could not be processed are one, too: status says which.",
  sections: [
    ["types", "Types of events", null, EVENT_TYPES.map((type) => [type, json(sampleEvent(type, decide))] as const)],
    ["receiver", "Receiving deliveries", receiving(retryWaits_ms.map(inWords).join(", "))],
  ] as const,
});

const SAMPLE_TIME = Date.UTC(2026, 2, 14, 9, 26, 53, 589);
const at = iso(SAMPLE_TIME);
/** Of its own: those of the running server are not used up for a page. */
const ids = new TimeOrderedIds(new AdjustableClock(SAMPLE_TIME), seededRandom("samples"));

function sampleEvent(type: EventType, decide: Decide): object {
  const object = objectOf(type, sampleObject({ ids, at }, type), decide);
  const envelope = { id: ids.next("evt_"), type, created: at, data: { object } };
  const account = { id: ids.next("acc_"), name: "Example account" };
  return type === "user.interaction" ? envelope : { ...envelope, account };
}

/** A value that fits the schema of an answer; what may be null is. */
export function sampleOf(schema: JsonSchema): unknown {
  const { type, format, pattern = "", items, minimum, anyOf } = schema;
  const members = Object.entries(membersOf(schema));
  const [prefix] = /(?<=^\^)\w+_/.exec(String(pattern)) ?? [];
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(anyOf)) return null;
  if (prefix !== undefined) return ids.next(prefix);
  if (members.length > 0) return Object.fromEntries(members.map(([name, each]) => [name, sampleOf(each)]));
  if (type === "object") return { "…": null };
  if (type === "array") return isSchema(items) ? [sampleOf(items)] : [];
  if (type === "integer") return minimum ?? 0;
  if (type === "boolean") return true;
  return format === "date-time" ? at : format === "uri" ? "https://sales.example.com/" : "…";
}

const RULES = [
  "Be reachable over HTTPS. On a machine of its own this server also sends to http on the same machine.",
  "Check the signature first. `X-Service-Signature` is sha256= and the HMAC-SHA256 of the raw body in lower-case hexadecimal, keyed with the webhook’s secret. Compare in constant time and answer 401 where it differs.",
  "Answer 2xx within 30 seconds. Store the event and work on it afterwards.",
  "Expect an event more than once. Remember the `id` of each event that you have dealt with, and answer 2xx to those that you know.",
  "Do not count on the order. `created` and the event’s id put events in order.",
];

const HEADERS =
  "Beside the signature a delivery carries the event’s type in `X-Service-Event`, an id that is the same at every attempt in `X-Service-Delivery`, and `X-Service-Attempt`, which counts from 1; for libraries of Standard Webhooks also `webhook-id`, `webhook-timestamp` and `webhook-signature`.";

const AGAIN =
  "Anything but 2xx is tried again, after <waits>, each 20 % more or less. `Retry-After` with 429 or 503 makes a wait longer. 410 switches the webhook off at once; five days without a success do, too. Redirects are not followed. The dashboard shows every attempt under Settings, Webhooks.";

const receiving = (waits: string): Html => html`${list(RULES.map(prose), "ol")}${code(EXAMPLE)}<p>${prose(HEADERS)}</p>
<p>${prose(AGAIN.replace("<waits>", waits))}</p>`;

/** In the largest unit that it is a whole number of. */
function inWords(wait_ms: number): string {
  const [name, ms] = [...UNITS].findLast(([, unit_ms]) => wait_ms % unit_ms === 0) ?? ["ms", 1];
  return `${wait_ms / ms} ${name}`;
}

const EXAMPLE = `const { createHmac, timingSafeEqual } = require("node:crypto");
const { buffer } = require("node:stream/consumers");

const seen = new Set();

require("node:http").createServer(async (request, response) => {
  const body = await buffer(request);
  const mac = createHmac("sha256", process.env.WEBHOOK_SECRET).update(body).digest("hex");
  const expected = Buffer.from("sha256=" + mac);
  const sent = Buffer.from(request.headers["x-service-signature"] ?? "");
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return response.writeHead(401).end();
  const event = JSON.parse(body);
  if (!seen.has(event.id)) console.log(event.type, event.data.object);
  seen.add(event.id);
  response.writeHead(204).end();
}).listen(4700);`;
