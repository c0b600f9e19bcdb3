// The examples of the documentation: records in the form of real ones, serialized as the API does it.
import { EVENTS_WITHOUT_ACCOUNT, sampleObject } from "../../domain/events.ts";
import type { EventType } from "../../domain/model.ts";
import { serializeResponse } from "../../http/api.ts";
import type { Operation } from "../../http/operation.ts";
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
  Event: { body: JSON.stringify(sampleEvent("user.interaction")) },
  OAuthClient: { client_secret: secret },
  Webhook: { secret: `whsec_${secret}=` },
};

/** Returns the response to the operation's example request. */
export function sampleResponse(route: Operation, deps: WebDeps): string {
  const { operations, textCache, variants } = deps;
  const { serializer, operationId, example, path } = route;
  const { name = "", json = {}, kind } = serializer ?? {};
  const create = operations.find((each) => each.serializer?.name === name && each.example);
  const members = Object.entries(json.properties ?? {}).map(([name, schema]) => {
    // Nullable enumerations have no type.
    const { type = null, enum: values, pattern } = schema;
    const [prefix] = /\w+_/.exec(String(pattern)) ?? [];
    const value = values?.[0] ?? (prefix ? ids.next(prefix) : timestamp);
    return [name, String(type).includes("null") ? null : value];
  });
  const values = [Object.fromEntries(members), VALUES[name], create?.example, example];
  const record = Object.assign({}, ...values, VALUES[operationId]);
  const page = { items: [record], total: 1, range: { limit: 20, offset: 0 } };
  const result = kind === "page" ? page : record;
  const { status, body } = serializeResponse(route, result, textCache, { path, query: "" });
  if (!body) return `HTTP/1.1 ${status}`;
  const shown = JSON.parse(body);
  const isBare = kind === "page" && variants["list-shape"];
  return `HTTP/1.1 ${status}\n\n${JSON.stringify(isBare ? shown.data : shown, null, 2)}`;
}
