// Faults in events, their deliveries and signatures (spec part 6): each breaks one sentence, as an implementation might.
import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { EVENT_TYPES } from "../../src/domain/model.ts";
import { type Members, members } from "../../test/support/client.ts";
import type { Delivery } from "./proxy.ts";
import { oneWebhook } from "./remembering.ts";
import * as way from "./ways.ts";
import { type Change, delivers, type Faults, field, header, tells, tellsObject, type Way, without } from "./ways.ts";

const never = (type: string) => way.drops((event) => event.type === type);
const TYPES: Faults = {
  "no-created 6.types.app-created: it is never sent": never("app.created"),
  "no-updated 6.types.app-updated: it is never sent": never("app.updated"),
  "no-deployed 6.types.app-deployed: it is never sent": never("app.deployed"),
  "no-deleted 6.types.app-deleted: it is never sent": never("app.deleted"),
  "no-interaction 6.types.user-interaction: it is never sent": never("user.interaction"),
};

const of = (name: string, change: (value: unknown) => unknown) => tells("", field(name, change));
const called =
  (name: string, other: string): Change =>
  (value) => ({ ...without(name)(value), [other]: value[name] });
const objectIn = (data: unknown) => members(members(data).object);
const ENVELOPE: Faults = {
  "event-no-id 6.envelope: there is no id": tells("", without("id")),
  "event-id-bare 6.envelope: the id has no prefix": of("id", (id) => String(id).slice(4)),
  "event-type 6.envelope: the type is in capitals": of("type", (type) => String(type).toUpperCase()),
  "event-called 6.envelope: created is called created_at": tells("", called("created", "created_at")),
  "event-seconds 6.envelope: created is a number of seconds": of("created", (at) => Date.parse(String(at)) / 1_000),
  "event-local 6.envelope: created has no zone": of("created", (at) => String(at).replace("Z", "")),
  "event-flat 6.envelope: data is the object itself": of("data", objectIn),
  "event-two 6.envelope: data has a second member": of("data", (data) => ({ ...members(data), previous: null })),
  "event-text 6.envelope: data.object is JSON in a string": of("data", (data) => ({
    object: JSON.stringify(objectIn(data)),
  })),
  "event-wrapped 6.envelope: the event is a member of the body": tells("", (event) => ({ event })),
  "event-batch 6.envelope: the body is a list of events": tells("", (event) => [event]),
  "account-lost 6.envelope.account: app.deployed has none": tells("app.deployed", without("account")),
  "account-text 6.envelope.account: it is an id": tells("app.deployed", (event) => ({ ...event, account: "acc_1" })),
  "account-present 6.envelope.account-absent: user.interaction has one": tells("user.interaction", (event) => ({
    ...event,
    account: { id: "acc_00000000000000000000", name: "Example" },
  })),
};

const deployed = (change: Change) => tellsObject("app.deployed", change);
const clicked = (change: Change) => tellsObject("user.interaction", change);
const nested = ({ deployment }: Members) => members(deployment);
const OBJECTS: Faults = {
  "deployed-untitled 6.data.app-deployed: the title is missing": deployed(without("title")),
  "deployed-name 6.data.app-deployed: the title is the deployment's name": deployed(field("title", () => "Release 1")),
  "deployed-id 6.data.app-deployed: the id is the deployment's": deployed((of) => ({ ...of, id: nested(of).id })),
  "deployed-flat 6.data.app-deployed: the deployment is no member": deployed((of) => ({
    ...nested(of),
    ...without("deployment")(of),
  })),
  "deployed-by-id 6.data.app-deployed: the deployment is an id": deployed((of) => ({
    ...of,
    deployment: nested(of).id,
  })),
  "clicked-app 6.data.user-interaction: app_id is called id": clicked(called("app_id", "id")),
  "clicked-nobody 6.data.user-interaction: there is no user_id": clicked(without("user_id")),
  "clicked-type 6.data.user-interaction: interaction_type is called type": clicked(called("interaction_type", "type")),
  "clicked-chart 6.data.user-interaction: chart_id is missing": clicked(without("chart_id")),
  "clicked-list 6.data.user-interaction: data_point is a list": clicked(field("data_point", (point) => [point])),
};

const asForm = (each: Delivery) =>
  header(
    way.signed(each, `payload=${encodeURIComponent(each.body)}`),
    "content-type",
    "application/x-www-form-urlencoded",
  );
const DELIVERIES: Faults = {
  "sent-put 6.delivery.post: it is a PUT": delivers((each) => ({ ...each, method: "PUT" })),
  "sent-get 6.delivery.post: it is a GET": delivers((each) => ({ ...way.signed(each, ""), method: "GET" })),
  "sent-form 6.delivery.post: its body is a form": delivers(asForm),
  "sent-unasked 6.delivery.subscribed: every webhook gets every type": way.asksJson(
    "POST /webhooks",
    field("events", () => EVENT_TYPES),
  ),
  "sent-once 6.delivery.subscribed: of several webhooks one is served": { hook: oneWebhook },
};

const follows: Way<Delivery> = async (delivery, send) => {
  const answer = await send(delivery);
  const { location } = answer.headers;
  return location === undefined ? answer : send({ ...delivery, url: new URL(location, delivery.url).href });
};
/** Just before its own deadline the server hears of a success. */
const waits: Way<Delivery> = (delivery, send) =>
  Promise.race([send(delivery), sleep(29_500, way.bare(200), { ref: false })]);
const counts = (statuses: RegExp, as: number) => way.takes((status) => (statuses.test(String(status)) ? as : status));
const SUCCESS: Faults = {
  "redirect-followed 6.success.2xx-only: a redirect is followed": { hook: follows },
  "redirect-success 6.success.2xx-only: a redirect counts as success": counts(/^3/, 200),
  "missing-success 6.success.2xx-only: 404 counts as success": counts(/^404/, 200),
  "only-200 6.success.2xx: no other 2xx is a success": counts(/^2(?!00)/, 500),
  "not-204 6.success.2xx: 204 is no success": counts(/^204/, 500),
  "two-seconds 6.success.30-seconds: an endpoint has 2 seconds": { options: { webhookTimeout: "2s" } },
  "ten-seconds 6.success.30-seconds: an endpoint has 10 seconds": { options: { webhookTimeout: "10s" }, slow: true },
  "no-deadline 6.success.30-seconds: an endpoint has all the time it wants": { hook: waits, slow: true },
};

const hmac = (body: string, secret: string, by = "sha256") => createHmac(by, secret).update(body);
const signs = (value: (body: string, secret: string) => string) =>
  delivers((each) => header(each, "x-service-signature", value(each.body, each.secret)));
const over = (change: (body: string) => string) =>
  signs((body, secret) => `sha256=${hmac(change(body), secret).digest("hex")}`);
const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
const SIGNATURES: Faults = {
  "signature-none 6.signature: there is none": delivers((each) => header(each, "x-service-signature")),
  "signature-bare 6.signature: it is the digest alone": signs((body, secret) => hmac(body, secret).digest("hex")),
  "signature-capitals 6.signature: it is in capitals": signs(
    (...of) =>
      `sha256=${hmac(...of)
        .digest("hex")
        .toUpperCase()}`,
  ),
  "signature-base64 6.signature: it is Base64": signs((...of) => `sha256=${hmac(...of).digest("base64")}`),
  "signature-sha1 6.signature: it is made with SHA-1": signs((...of) => `sha1=${hmac(...of, "sha1").digest("hex")}`),
  "signature-sha512 6.signature: it is made with SHA-512": signs(
    (...of) => `sha256=${hmac(...of, "sha512").digest("hex")}`,
  ),
  "signature-header 6.signature: its header is X-Signature": delivers((each) =>
    header(header(each, "x-signature", each.headers["x-service-signature"]), "x-service-signature"),
  ),
  "signature-printed 6.signature: it is over the body as it is printed": over((body) =>
    JSON.stringify(JSON.parse(body), null, 2),
  ),
  "signature-ascii 6.signature: it is over the body with letters escaped": over((body) =>
    body.replace(/[^ -~]/g, escaped),
  ),
  "signature-data 6.signature: it is over data alone": over((body) => JSON.stringify(JSON.parse(body).data)),
  "signature-time 6.signature: it is over the time and the body": over((body) => `${JSON.parse(body).created}.${body}`),
  "signature-secret 6.signature: it is keyed with the secret in Base64": signs(
    (body, secret) => `sha256=${hmac(body, btoa(encodeURI(secret))).digest("hex")}`,
  ),
};

export const events: Faults = { ...TYPES, ...ENVELOPE, ...OBJECTS, ...DELIVERIES, ...SUCCESS, ...SIGNATURES };
