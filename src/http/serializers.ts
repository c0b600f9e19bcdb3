// How records go out. A view shows of a record what the resource has in domain/model; the presenter makes the JSON text of a
// record that is read once and remembers it with its ETag as long as the record lives, so that a list is a join of texts.
import { hash } from "node:crypto";
import { decide } from "../decisions.ts";
import type { Page } from "../domain/crud.ts";
import * as model from "../domain/model.ts";
import type { Decide } from "../domain/variants.ts";
import { type Infer, type JsonSchema, type ObjectSchema, pick } from "../lib/schema.ts";
import type { ServiceUrls } from "./urls.ts";

export interface Serializer<R> {
  /** One resource, a page of a list of them, or JSON that is no resource. */
  readonly kind: "one" | "page" | "plain";
  /** The name of one in the OpenAPI document: App, Webhook, … */
  readonly name: string;
  /** How one looks. */
  readonly json: JsonSchema;
  text(result: R, responseCache: ResponseCache): string;
}

/** An object with exactly these members, all of them always present. */
export const closedObject = (
  properties: Record<string, JsonSchema>,
  required = Object.keys(properties),
): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** Shows the members of the resource, in their order, of the record or of what is `made` of it. */
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
    // Not a join: what is put around it makes one text of it all the same.
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

// The resources that have more rows than those of `resource`, or are not shown as they are kept.

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

/** A text with the ETag of its bytes, strong (RFC 9110 8.8.1): a hash of them, made when it is first asked for. */
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

/** A text by the values that its `<names>` stand for. */
export function createTemplate(text: string) {
  const pieces = text.split(/<(\w+)>/);
  return (values: Readonly<Record<string, unknown>>) =>
    pieces.reduce((filled, piece, at) => `${filled}${at % 2 === 0 ? piece : values[piece]}`);
}
/** The body of a list, by the values that it is made of; what it has no room for stands in a header. */
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
     * For a record that was written just now and may never be read: nothing of it is remembered. Where it was, collecting the
     * garbage among so many texts took 2 of the 15 us between listener and answer.
     */
    serializeUncached: <R extends object>(view: Serializer<R>, record: R): Representation =>
      new Representation(view.text(record, responseCache)),
  };
  return responseCache;
}
