// How records go out. A view shows of a record what the resource has in domain/model; the presenter makes the JSON text of a
// record that is read once and remembers it with its ETag as long as the record lives, so that a list is a join of texts.
import { hash } from "node:crypto";
import { decide } from "../decisions.ts";
import type { Page } from "../domain/lists.ts";
import * as model from "../domain/model.ts";
import type { Decide } from "../domain/readings.ts";
import { type Infer, type JsonSchema, type ObjectSchema, pick } from "../kit/schema.ts";
import type { ServiceLinks } from "./links.ts";

export interface View<R> {
  /** One resource, a page of a list of them, or JSON that is no resource. */
  readonly kind: "one" | "page" | "plain";
  /** The name of one in the OpenAPI document: App, Webhook, … */
  readonly name: string;
  /** How one looks. */
  readonly json: JsonSchema;
  text(result: R, presenter: Presenter): string;
}

/** An object with exactly these members, all of them always present. */
export const shape = (properties: Record<string, JsonSchema>, required = Object.keys(properties)): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** Shows the members of the resource, in their order, of the record or of what is `made` of it. */
export const view = <R extends object>(
  name: string,
  shown: ObjectSchema<unknown>,
  made: (record: R, links: ServiceLinks) => object = (record) => record,
): View<R> => ({
  kind: "one",
  name,
  json: shown.json,
  text: (record, { links }) => JSON.stringify(pick(shown, made(record, links))),
});

export const plain = (json: JsonSchema): View<object> => ({
  kind: "plain",
  name: "",
  json,
  text: (value) => JSON.stringify(value),
});

export const page = <R extends object>(of: View<R>): View<Page<R>> => ({
  ...of,
  kind: "page",
  text({ items, total, span }, presenter) {
    // Not a join: what is put around it makes one text of it all the same.
    const texts = items.reduce((all, item, at) => `${all}${at > 0 ? "," : ""}${presenter.shown(of, item).text}`, "[");
    return presenter.listed({ items: `${texts}]`, total, limit: span.limit, offset: span.offset });
  },
});

// The resources that have more rows than those of `resource`, or are not shown as they are kept.

export const deploymentView = view<model.DeploymentRecord>("Deployment", model.deployment.shown, (record, links) => ({
  ...record,
  url: links.site(record.id),
}));
export const deliveryView = view<model.DeliveryRecord>("Delivery", model.delivery);
export const accountView = view<Infer<typeof model.shownAccount>>("Account", model.shownAccount);

export const eventView: View<model.EventRecord> = {
  ...view("Event", model.envelope),
  text: ({ body }) => body,
};

export const rowView: View<object> = { ...plain(model.dataRow.json), kind: "one", name: "DataSourceRow" };

/** 120 bits of the hash in base64url. */
const ETAG_CHARACTERS = 20;
const TAG = decide("4.etag");

/** A text with the ETag of its bytes, strong (RFC 9110 8.8.1): a hash of them, made when it is first asked for. */
class Shown {
  #etag: string | undefined;

  constructor(readonly text: string) {}

  get etag(): string {
    this.#etag ??= TAG.replace("<hash>", hash("sha256", this.text, "base64url").slice(0, ETAG_CHARACTERS));
    return this.#etag;
  }
}

/** A text by the values that its `<names>` stand for. */
export function filling(text: string) {
  const pieces = text.split(/<(\w+)>/);
  return (values: Readonly<Record<string, unknown>>) =>
    pieces.reduce((filled, piece, at) => `${filled}${at % 2 === 0 ? piece : values[piece]}`);
}
/** The body of a list, by the values that it is made of; what it has no room for stands in a header. */
export const listing = (decide: Decide) => filling(decide("4.list-shape"));
export const isTotalApart = (decide: Decide) => !decide("4.list-shape").includes("<total>");

export type Presenter = ReturnType<typeof presenting>;

export function presenting(links: ServiceLinks, decide: Decide) {
  const kept = new WeakMap<object, Shown>();
  const presenter = {
    links,
    listed: listing(decide),
    isTotalApart: isTotalApart(decide),

    shown<R extends object>(view: View<R>, record: R): Shown {
      const known = kept.get(record);
      if (known) return known;
      const shown = presenter.fresh(view, record);
      kept.set(record, shown);
      return shown;
    },

    /**
     * For a record that was written just now and may never be read: nothing of it is remembered. Where it was, collecting the
     * garbage among so many texts took 2 of the 15 us between listener and answer.
     */
    fresh: <R extends object>(view: View<R>, record: R): Shown => new Shown(view.text(record, presenter)),
  };
  return presenter;
}
