// How records go out. A view names the fields of a resource that clients see; the presenter makes the JSON text of a
// record that is read once and remembers it with its ETag as long as the record lives, so that a list is a join of texts.
import { hash } from "node:crypto";
import { decide } from "../decisions.ts";
import { type JsonSchema, trusted } from "../kit/schema.ts";
import type { ServiceLinks } from "./links.ts";
import { template } from "./template.ts";

export interface View<R> {
  /** The schema's name in the OpenAPI document: App, Webhook, … */
  readonly name: string;
  readonly json: JsonSchema;
  fields(record: R, links: ServiceLinks): unknown;
  /** Instead of `fields`, where the text is kept already. */
  text?(record: R): string;
}

/** An object with exactly these members, all of them always present. */
export const shape = (properties: Record<string, JsonSchema>, required = Object.keys(properties)): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** Shows these of the record's members, in this order. */
export function view<R extends object>(name: string, members: { readonly [name: string]: JsonSchema }): View<R> {
  const names = Object.keys(members);
  return {
    name,
    json: shape(members),
    fields(record) {
      const all = trusted<Record<string, unknown>>(record);
      const shown: Record<string, unknown> = {};
      for (const each of names) shown[each] = all[each];
      return shown;
    },
  };
}

/** A text with the ETag of its bytes. */
export interface Tagged {
  readonly text: string;
  readonly etag: string;
}

/** 120 bits of the hash in base64url. */
const ETAG_CHARACTERS = 20;
const tag = template(decide("4.etag"));

export class Presenter {
  readonly links: ServiceLinks;
  readonly #shown = new WeakMap<object, { readonly text: string; etag: string | undefined }>();

  constructor(links: ServiceLinks) {
    this.links = links;
  }

  text<R extends object>(view: View<R>, record: R): string {
    return this.#of(view, record).text;
  }

  tagged<R extends object>(view: View<R>, record: R): Tagged {
    const shown = this.#of(view, record);
    const { text, etag = etagOf(text) } = shown;
    shown.etag = etag;
    return { text, etag };
  }

  /**
   * For a record that was made just now and may never be read: nothing of it is remembered. Where it was, collecting the
   * garbage among so many texts took 2 of the 15 us between listener and answer.
   */
  once<R extends object>(view: View<R>, record: R): Tagged {
    const text = textOf(view, record, this.links);
    return { text, etag: etagOf(text) };
  }

  #of<R extends object>(view: View<R>, record: R) {
    let shown = this.#shown.get(record);
    if (shown === undefined) {
      shown = { text: textOf(view, record, this.links), etag: undefined };
      this.#shown.set(record, shown);
    }
    return shown;
  }
}

const textOf = <R>(view: View<R>, record: R, links: ServiceLinks): string =>
  view.text?.(record) ?? JSON.stringify(view.fields(record, links));

/** Strong (RFC 9110 8.8.1): a hash of the very bytes of the representation. */
const etagOf = (text: string): string => tag({ hash: hash("sha256", text, "base64url").slice(0, ETAG_CHARACTERS) });
