// Serializers. A response shows the members that the resource has in domain/model. The response cache keeps a record's
// JSON text and ETag for the record's lifetime, so that a list only concatenates texts.
import { hash } from "node:crypto";
import type { Page } from "../domain/crud.ts";
import * as model from "../domain/model.ts";
import type { Decide } from "../domain/variants.ts";
import { decide } from "../former-decisions.ts";
import { type Infer, type JsonSchema, type ObjectSchema, pick } from "../lib/schema.ts";
import type { ServiceUrls } from "./urls.ts";

export interface Serializer<R> {
  /** One resource, a page of a list, or JSON that is not a resource. */
  readonly kind: "one" | "page" | "plain";
  /** Schema name of one resource in the OpenAPI document: App, Webhook, … */
  readonly name: string;
  /** JSON Schema of one resource. */
  readonly json: JsonSchema;
  text(result: R, responseCache: ResponseCache): string;
}

/** JSON Schema of an object with exactly these members, all required by default. */
export const closedObject = (
  properties: Record<string, JsonSchema>,
  required = Object.keys(properties),
): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** Serializes the members of `shown`, in order, from the record or from `made(record)`. */
export const resourceSerializer = <R extends object>(
  name: string,
  shown: ObjectSchema<unknown>,
  made: (record: R, links: ServiceUrls) => object = (record) => record,
): Serializer<R> => ({
  kind: "one",
  name,
  json: shown.json,
  text: (record, { links }) => JSON.stringify(pick(shown, made(record, links))),
});

export const jsonSerializer = (json: JsonSchema): Serializer<object> => ({
  kind: "plain",
  name: "",
  json,
  text: (value) => JSON.stringify(value),
});

export const listSerializer = <R extends object>(of: Serializer<R>): Serializer<Page<R>> => ({
  ...of,
  kind: "page",
  text({ items, total, range }, responseCache) {
    // Not `join`, because the surrounding envelope makes one text of it anyway.
    const texts = items.reduce(
      (all, item, at) => `${all}${at > 0 ? "," : ""}${responseCache.serialize(of, item).text}`,
      "[",
    );
    return responseCache.listed({
      items: `${texts}]`,
      total,
      limit: range.limit,
      offset: range.offset,
    });
  },
});

// Resources with routes beyond CRUD, or with a response unlike the stored record.

export const deploymentSerializer = resourceSerializer<model.DeploymentRecord>(
  "Deployment",
  model.deployment.response,
  (record, links) => ({
    ...record,
    url: links.site(record.id),
  }),
);
export const deliverySerializer = resourceSerializer<model.DeliveryRecord>(
  "Delivery",
  model.delivery,
);
export const accountSerializer = resourceSerializer<Infer<typeof model.shownAccount>>(
  "Account",
  model.shownAccount,
);

export const eventSerializer: Serializer<model.EventRecord> = {
  ...resourceSerializer("Event", model.envelopeSchema),
  text: ({ body }) => body,
};

export const rowSerializer: Serializer<object> = {
  ...jsonSerializer(model.dataRow.json),
  kind: "one",
  name: "DataSourceRow",
};

/** 120 bits of the hash in base64url. */
const ETAG_CHARACTERS = 20;
const TAG = decide("4.etag");

/** A text and its strong ETag (RFC 9110 8.8.1), a hash of its bytes computed on first use. */
class Representation {
  #etag: string | undefined;

  constructor(readonly text: string) {}

  get etag(): string {
    this.#etag ??= TAG.replace(
      "<hash>",
      hash("sha256", this.text, "base64url").slice(0, ETAG_CHARACTERS),
    );
    return this.#etag;
  }
}

/** Compiles a template; the result replaces each `<name>` by its value. */
export function createTemplate(text: string) {
  const pieces = text.split(/<(\w+)>/);
  return (values: Readonly<Record<string, unknown>>) =>
    pieces.reduce((filled, piece, at) => `${filled}${at % 2 === 0 ? piece : values[piece]}`);
}
/** Template of a list body; a total without a place in it is sent as a header. */
export const listEnvelope = (decide: Decide) => createTemplate(decide("4.list-shape"));
export const isTotalInHeader = (decide: Decide) => !decide("4.list-shape").includes("<total>");

export type ResponseCache = ReturnType<typeof createResponseCache>;

export function createResponseCache(links: ServiceUrls, decide: Decide) {
  const cache = new WeakMap<object, Representation>();
  const responseCache = {
    links,
    listed: listEnvelope(decide),
    isTotalInHeader: isTotalInHeader(decide),

    serialize<R extends object>(view: Serializer<R>, record: R): Representation {
      const known = cache.get(record);
      if (known) return known;
      const serialize = responseCache.serializeUncached(view, record);
      cache.set(record, serialize);
      return serialize;
    },

    /**
     * For a record that was just written and may never be read. Caching it added garbage collection: 2 of the 15 µs
     * between server and response.
     */
    serializeUncached: <R extends object>(view: Serializer<R>, record: R): Representation =>
      new Representation(view.text(record, responseCache)),
  };
  return responseCache;
}
