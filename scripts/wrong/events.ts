// Faults in events, their deliveries and signatures (spec part 6): each breaks one sentence, as an implementation might.
import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { EVENT_TYPES } from "../../src/domain/model.ts";
import { objectIn } from "../../test/support/shown.ts";
import type { Delivery } from "./proxy.ts";
import * as way from "./ways.ts";
import { type Change, delivers, type Faults, gone, header, is, tells, type Way } from "./ways.ts";

const never = (type: string) => way.drops((event) => event.type === type);
const called =
  (name: string, other: string): Change =>
  (value) => ({ ...Object(value), [name]: undefined, [other]: Object(value)[name] });
const deployed = (path: string, change: Change) => tells("app.deployed", `data.object${path && "."}${path}`, change);
const clicked = (path: string, change: Change) => tells("user.interaction", `data.object${path && "."}${path}`, change);
const renumbered = (app: unknown) => ({ ...Object(app), id: Object(app).deployment.id });
const FORM = "application/x-www-form-urlencoded";
const asForm = (each: Delivery) =>
  header(way.signed(each, `payload=${encodeURIComponent(each.body)}`), "content-type", FORM);
const everyType = way.asksJson("POST /webhooks", "events", is(EVENT_TYPES));
/** Of several webhooks that want an event one gets it. */
const oneWebhook: Way<Delivery> = async (delivery, send, { kept }) => {
  const { id } = objectIn(delivery.body);
  const served = kept.get(id) ?? delivery.url;
  kept.set(id, served);
  return served === delivery.url ? send(delivery) : way.bare(200);
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
type Form = (digest: Buffer) => string;
const plain: Form = (digest) => `sha256=${digest.toString("hex")}`;
const SIGNATURE = "x-service-signature";
/** The signature is made of another text, or told in another form. */
const signs = (form: Form, of = (body: string) => body) =>
  delivers((each) => header(each, SIGNATURE, form(createHmac("sha256", each.secret).update(of(each.body)).digest())));
const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
const printed = (body: string) => JSON.stringify(JSON.parse(body), null, 2);
const moved = (each: Delivery) => header(header(each, "x-signature", each.headers[SIGNATURE]), SIGNATURE);

export const events: Faults = {
  "no-created 6.types.app-created: it is never sent": never("app.created"),
  "no-updated 6.types.app-updated: it is never sent": never("app.updated"),
  "no-deployed 6.types.app-deployed: it is never sent": never("app.deployed"),
  "no-deleted 6.types.app-deleted: it is never sent": never("app.deleted"),
  "no-interaction 6.types.user-interaction: it is never sent": never("user.interaction"),
  "event-no-id 6.envelope: there is no id": tells("", "id", gone),
  "event-id-bare 6.envelope: the id has no prefix": tells("", "id", (id) => String(id).slice(4)),
  "event-type 6.envelope: the type is in capitals": tells("", "type", (type) => String(type).toUpperCase()),
  "event-called 6.envelope: created is called created_at": tells("", "", called("created", "created_at")),
  "event-seconds 6.envelope: created is a number of seconds": tells(
    "",
    "created",
    (at) => Date.parse(String(at)) / 1e3,
  ),
  "event-flat 6.envelope: data is the object itself": tells("", "data", (data) => Object(data).object),
  "event-two 6.envelope: data has a second member": tells("", "data.previous", is(null)),
  "event-wrapped 6.envelope: the event is a member of the body": tells("", "", (event) => ({ event })),
  "event-batch 6.envelope: the body is a list of events": tells("", "", (event) => [event]),
  "account-lost 6.envelope.account: app.deployed has none": tells("app.deployed", "account", gone),
  "account-text 6.envelope.account: it is an id": tells("app.deployed", "account", is("acc_1")),
  "account-present 6.envelope.account-absent: user.interaction has one": tells("user.interaction", "account", is({})),
  "deployed-untitled 6.data.app-deployed: the title is missing": deployed("title", gone),
  "deployed-id 6.data.app-deployed: the id is the deployment's": deployed("", renumbered),
  "deployed-by-id 6.data.app-deployed: the deployment is an id": deployed("deployment", (it) => Object(it).id),
  "clicked-app 6.data.user-interaction: app_id is called id": clicked("", called("app_id", "id")),
  "clicked-nobody 6.data.user-interaction: there is no user_id": clicked("user_id", gone),
  "clicked-list 6.data.user-interaction: data_point is a list": clicked("data_point", (point) => [point]),
  "sent-put 6.delivery.post: it is a PUT": delivers((each) => ({ ...each, method: "PUT" })),
  "sent-form 6.delivery.post: its body is a form": delivers(asForm),
  "sent-unasked 6.delivery.subscribed: every webhook gets every type": everyType,
  "sent-once 6.delivery.subscribed: of several webhooks one is served": { hook: oneWebhook },
  "redirect-followed 6.success.2xx-only: a redirect is followed": { hook: follows },
  "redirect-success 6.success.2xx-only: a redirect counts as success": counts(/^3/, 200),
  "missing-success 6.success.2xx-only: 404 counts as success": counts(/^404/, 200),
  "only-200 6.success.2xx: no other 2xx is a success": counts(/^2(?!00)/, 500),
  "two-seconds 6.success.30-seconds: an endpoint has 2 seconds": { options: { webhookTimeout: "2s" } },
  "no-deadline 6.success.30-seconds: an endpoint has all the time it wants": { hook: waits, slow: true },
  "signature-none 6.signature: there is none": delivers((each) => header(each, SIGNATURE)),
  "signature-bare 6.signature: it is the digest alone": signs((digest) => digest.toString("hex")),
  "signature-capitals 6.signature: it is in capitals": signs((digest) => plain(digest).toUpperCase()),
  "signature-base64 6.signature: it is Base64": signs((digest) => `sha256=${digest.toString("base64")}`),
  "signature-header 6.signature: its header is X-Signature": delivers(moved),
  "signature-printed 6.signature: it is over the body as it is printed": signs(plain, printed),
  "signature-ascii 6.signature: letters are escaped": signs(plain, (body) => body.replace(/[^ -~]/g, escaped)),
};
