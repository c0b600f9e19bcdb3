// Faults in events, their deliveries and signatures (spec part 6): each breaks one sentence, as an implementation
// might.
import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { EVENT_TYPES } from "../../src/domain/model.ts";
import { objectIn } from "../../test/support/shown.ts";
import {
  compose,
  EVENT,
  emptyObject,
  type FaultTable,
  on,
  type ProxyRequest,
  patchRequest,
  patchRequestBody,
  patchResponse,
  rename,
  respondWith,
  toSeconds,
  withHeader,
  withoutPrefix,
} from "./patches.ts";
import { SIGNATURE } from "./proxy.ts";

const [DEPLOYED, CLICKED] = ["EVENT app.deployed", "EVENT user.interaction"];
const never = (type: string) => respondWith(`EVENT ${type}`, 200);
const [idOf, listed] = [(it: unknown) => Object(it).id, (it: unknown) => [it]];
const renumbered = (app: unknown) => ({ ...Object(app), id: Object(app).deployment.id });
const FORM = "application/x-www-form-urlencoded";
const asForm = (each: ProxyRequest) =>
  withHeader({ ...each, body: `payload=${encodeURIComponent(each.body)}` }, "content-type", FORM);
const everyType = patchRequestBody("POST /webhooks", "events", EVENT_TYPES);
/** Delivers each event to only one of its webhooks. */
const served = new Map<unknown, string>();
const oneWebhook = on(EVENT, async (delivery, send) => {
  const { id } = objectIn(delivery.body);
  if (!served.has(id)) served.set(id, delivery.url);
  return served.get(id) === delivery.url ? send(delivery) : emptyObject(200);
});
const follows = on(EVENT, async (delivery, send) => {
  const response = await send(delivery);
  const { location } = response.headers;
  return location === undefined
    ? response
    : send({ ...delivery, url: new URL(location, delivery.url).href });
});
/** Returns a success to the server just before the deadline. */
const waits = on(EVENT, (delivery, send) =>
  Promise.race([send(delivery), sleep(29_500, emptyObject(200), { ref: false })]),
);
const counts = (statuses: RegExp, status: number) =>
  patchResponse(EVENT, (response) =>
    statuses.test(String(response.status)) ? { ...response, status } : response,
  );
type Form = (digest: Buffer) => string;
const plain: Form = (digest) => `sha256=${digest.toString("hex")}`;
/** Signs another text, or encodes the signature in another form. */
const signs = (form: Form, of = (body: string) => body) =>
  patchRequest(EVENT, (each) =>
    withHeader(
      each,
      SIGNATURE,
      form(createHmac("sha256", String(each.secret)).update(of(each.body)).digest()),
    ),
  );
const escaped = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
const printed = (body: string) => JSON.stringify(JSON.parse(body), null, 2);
const moved = (each: ProxyRequest) =>
  withHeader(withHeader(each, "x-signature", each.headers[SIGNATURE]), SIGNATURE);

export const events: FaultTable = {
  "no-created 6.types.app-created: it is never sent": never("app.created"),
  "no-updated 6.types.app-updated: it is never sent": never("app.updated"),
  "no-deployed 6.types.app-deployed: it is never sent": never("app.deployed"),
  "no-deleted 6.types.app-deleted: it is never sent": never("app.deleted"),
  "no-interaction 6.types.user-interaction: it is never sent": never("user.interaction"),
  "event-no-id 6.envelope: there is no id": patchRequestBody(EVENT, "id", undefined),
  "event-id-bare 6.envelope: the id has no prefix": patchRequestBody(EVENT, "id", withoutPrefix),
  "event-type 6.envelope: the type is in capitals": patchRequestBody(EVENT, "type", (type) =>
    String(type).toUpperCase(),
  ),
  "event-called 6.envelope: created is called created_at": patchRequestBody(
    EVENT,
    "",
    rename("created", "created_at"),
  ),
  "event-seconds 6.envelope: created is a number of seconds": patchRequestBody(
    EVENT,
    "created",
    toSeconds,
  ),
  "event-flat 6.envelope: data is the object itself": patchRequestBody(
    EVENT,
    "data",
    (data) => Object(data).object,
  ),
  "event-two 6.envelope: data has a second member": patchRequestBody(EVENT, "data.previous", null),
  "event-wrapped 6.envelope: the event is a member of the body": patchRequestBody(
    EVENT,
    "",
    (event) => ({
      event,
    }),
  ),
  "event-batch 6.envelope: the body is a list of events": patchRequestBody(EVENT, "", listed),
  "account-lost 6.envelope.account: app.deployed has none": patchRequestBody(
    DEPLOYED,
    "account",
    undefined,
  ),
  "account-text 6.envelope.account: it is an id": patchRequestBody(DEPLOYED, "account", "acc_1"),
  "account-present 6.envelope.account-absent: user.interaction has one": patchRequestBody(
    CLICKED,
    "account",
    {},
  ),
  "deployed-untitled 6.data.app-deployed: the title is missing": patchRequestBody(
    DEPLOYED,
    "data.object.title",
    undefined,
  ),
  "deployed-id 6.data.app-deployed: the id is the deployment's": patchRequestBody(
    DEPLOYED,
    "data.object",
    renumbered,
  ),
  "deployed-by-id 6.data.app-deployed: the deployment is an id": patchRequestBody(
    DEPLOYED,
    "data.object.deployment",
    idOf,
  ),
  "clicked-app 6.data.user-interaction: app_id is called id": patchRequestBody(
    CLICKED,
    "data.object",
    rename("app_id", "id"),
  ),
  "clicked-nobody 6.data.user-interaction: there is no user_id": patchRequestBody(
    CLICKED,
    "data.object.user_id",
    undefined,
  ),
  "clicked-list 6.data.user-interaction: data_point is a list": patchRequestBody(
    CLICKED,
    "data.object.data_point",
    listed,
  ),
  "sent-put 6.delivery.post: it is a PUT": patchRequest(EVENT, (each) => ({
    ...each,
    method: "PUT",
  })),
  "sent-form 6.delivery.post: its body is a form": patchRequest(EVENT, asForm),
  "sent-unasked 6.delivery.subscribed: every webhook gets every type": everyType,
  "sent-once 6.delivery.subscribed: of several webhooks one is served": oneWebhook,
  "redirect-followed 6.success.2xx-only: a redirect is followed": follows,
  "redirect-success 6.success.2xx-only: a redirect counts as success": counts(/^3/, 200),
  "missing-success 6.success.2xx-only: 404 counts as success": counts(/^404/, 200),
  "only-200 6.success.2xx: no other 2xx is a success": counts(/^2(?!00)/, 500),
  "never-success 6.success.2xx: every response is a failure": counts(/^2/, 500),
  "missing-success-twice 6.success.2xx-only: 404 counts as success, and each event is sent twice":
    compose(
      counts(/^404/, 200),
      on(EVENT, async (delivery, send) => {
        await send(delivery);
        return send(delivery);
      }),
    ),
  "two-seconds 6.success.30-seconds: an endpoint has 2 seconds": {
    options: { webhookTimeout: "2s" },
  },
  "no-deadline 6.success.30-seconds: an endpoint has all the time it wants": {
    patch: waits,
    slow: true,
  },
  "signature-none 6.signature: there is none": patchRequest(EVENT, (each) =>
    withHeader(each, SIGNATURE),
  ),
  "signature-bare 6.signature: it is the digest alone": signs((digest) => digest.toString("hex")),
  "signature-capitals 6.signature: it is in capitals": signs((digest) =>
    plain(digest).toUpperCase(),
  ),
  "signature-base64 6.signature: it is Base64": signs(
    (digest) => `sha256=${digest.toString("base64")}`,
  ),
  "signature-header 6.signature: its header is X-Signature": patchRequest(EVENT, moved),
  "signature-printed 6.signature: it is over the body as it is printed": signs(plain, printed),
  "signature-ascii 6.signature: letters are escaped": signs(plain, (body) =>
    body.replace(/[^ -~]/g, escaped),
  ),
};
