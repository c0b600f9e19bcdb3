// How records go out. A view names the fields of a resource that clients see; the presenter makes the JSON text of a
// record once and remembers it with its ETag as long as the record lives, so that a list is a join of texts.
import { hash } from "node:crypto";
import { decide } from "../kit/decisions.ts";
import type { JsonSchema } from "../kit/schema.ts";
import type { ServiceLinks } from "./links.ts";

export interface View<R> {
  /** The schema's name in the OpenAPI document: App, Webhook, … */
  readonly name: string;
  readonly json: JsonSchema;
  fields(record: R, links: ServiceLinks): unknown;
  /** Instead of `fields`, where the text is kept already. */
  readonly text?: (record: R) => string;
}

interface Shown {
  readonly text: string;
  etag: string | undefined;
}

/** 120 bits of the hash in base64url. */
const ETAG_CHARACTERS = decide("4.etag", 20, {
  open: "how a client tells that a resource has changed",
  why: "a strong ETag on every single resource, from the bytes of its text: equal tags are equal bytes, also after a restart",
});

export class Presenter {
  readonly links: ServiceLinks;
  readonly #shown = new WeakMap<object, Shown>();

  constructor(links: ServiceLinks) {
    this.links = links;
  }

  text<R extends object>(view: View<R>, record: R): string {
    return this.#of(view, record).text;
  }

  /** Strong (RFC 9110 8.8.1): a hash of the very bytes of the representation. */
  etag<R extends object>(view: View<R>, record: R): string {
    const shown = this.#of(view, record);
    shown.etag ??= `"${hash("sha256", shown.text, "base64url").slice(0, ETAG_CHARACTERS)}"`;
    return shown.etag;
  }

  #of<R extends object>(view: View<R>, record: R): Shown {
    const known = this.#shown.get(record);
    if (known) return known;
    const text = view.text?.(record) ?? JSON.stringify(view.fields(record, this.links));
    const shown: Shown = { text, etag: undefined };
    this.#shown.set(record, shown);
    return shown;
  }
}
