// The examples of the documentation: records in the form of real ones, with the members of their schemas.
import { EVENTS_WITHOUT_ACCOUNT, sampleObject } from "../../domain/events.ts";
import type { EventType } from "../../domain/model.ts";
import type { Operation } from "../../http/operation.ts";
import type { JsonSchema } from "../../lib/schema.ts";
import type { WebDeps } from "../session.ts";

const timestamp = "2026-03-14T09:26:53.589Z";
const secret = "4fT0qLr8ZsW2kVx6NbYc1MhJd7GpUa9EwQi3RoKt5Xy";

/** All ids end alike, so that the examples of a page belong together. */
const ids = {
  next: (prefix: string) => `${prefix}0VN4t8Kq200Xw7RbLm5cYdT`,
  secret: () => secret,
};
const account = { id: ids.next("acc_"), name: "Example account" };

export const sampleEvent = (type: EventType) => ({
  id: ids.next("evt_"),
  type,
  created: timestamp,
  data: { object: sampleObject({ ids, timestamp }, type) },
  account: EVENTS_WITHOUT_ACCOUNT.has(type) ? undefined : account,
});

/** Values that neither the schema nor the example of a request gives, by resource and by operation. */
const VALUES: { readonly [name: string]: object } = {
  Account: account,
  ApiKey: { last_four: "t5Xy", key: `ahs_${secret}` },
  DataSource: sampleObject({ ids, timestamp }, "data.processed"),
  createDataSource: { status: "processing", columns: null, row_count: null },
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
  Deployment: { url: `https://hosting.example.com/sites/${ids.next("dep_")}/` },
  Event: sampleEvent("user.interaction"),
  OAuthClient: { client_secret: secret },
  Webhook: { secret: `whsec_${secret}=` },
};

/** Returns the response to the operation's example request. */
export function sampleResponse(route: Operation, { operations, variants }: WebDeps): string {
  const { serializer, operationId, example, status, shownOnce } = route;
  if (serializer === undefined) return `HTTP/1.1 ${status}`;
  const { name, json, kind } = serializer;
  const create = operations.find((each) => each.serializer?.name === name && each.example);
  const examples = [VALUES[name], create?.example, example, VALUES[operationId]];
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
