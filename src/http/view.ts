// How records go out. A view names the fields of a resource that clients see; the presenter makes the JSON text of a
// record that is read once and remembers it with its ETag as long as the record lives, so that a list is a join of texts.
import { hash } from "node:crypto";
import { decide } from "../decisions.ts";
import type { JsonSchema } from "../kit/schema.ts";
import type { ServiceLinks } from "./links.ts";
import { template } from "./template.ts";

export interface View<R> {
  /** The schema's name in the OpenAPI document: App, Webhook, … */
  readonly name: string;
  readonly json: JsonSchema;
  fields(record: R, links: ServiceLinks): unknown;
  /** Instead of `fields`, where the text is kept already. */
  readonly text?: (record: R) => string;
}

/** A record's JSON text and its length in UTF-8, counted once. */
export interface Text {
  readonly text: string;
  readonly bytes: number;
}

interface Shown extends Text {
  etag: string | undefined;
}

/** A text with the ETag of its bytes. */
export interface Tagged extends Text {
  readonly etag: string;
}

/** 120 bits of the hash in base64url. */
const ETAG_CHARACTERS = 20;
const tag = template(decide("4.etag"));

export class Presenter {
  readonly links: ServiceLinks;
  readonly #shown = new WeakMap<object, Shown>();

  constructor(links: ServiceLinks) {
    this.links = links;
  }

  text<R extends object>(view: View<R>, record: R): Text {
    return this.#of(view, record);
  }

  tagged<R extends object>(view: View<R>, record: R): Tagged {
    const shown = this.#of(view, record);
    shown.etag ??= etagOf(shown.text);
    const { text, bytes, etag } = shown;
    return { text, bytes, etag };
  }

  /**
   * For a record that was made just now and may never be read: nothing of it is remembered. Where it was, collecting the
   * garbage among so many texts took 2 of the 15 us between listener and answer.
   */
  once<R extends object>(view: View<R>, record: R): { readonly text: string; readonly etag: string } {
    const text = textOf(view, record, this.links);
    return { text, etag: etagOf(text) };
  }

  #of<R extends object>(view: View<R>, record: R): Shown {
    const known = this.#shown.get(record);
    if (known) return known;
    const text = textOf(view, record, this.links);
    const shown: Shown = { text, bytes: Buffer.byteLength(text), etag: undefined };
    this.#shown.set(record, shown);
    return shown;
  }
}

const textOf = <R>(view: View<R>, record: R, links: ServiceLinks): string =>
  view.text?.(record) ?? JSON.stringify(view.fields(record, links));

/** Strong (RFC 9110 8.8.1): a hash of the very bytes of the representation. */
const etagOf = (text: string): string => tag({ hash: hash("sha256", text, "base64url").slice(0, ETAG_CHARACTERS) });
