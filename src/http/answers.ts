// The few forms that a success takes: one resource, a created one, a page of a list, nothing (spec part 4 shows the
// created app; contract part 4 the rest).
import { decide } from "../decisions.ts";
import type { Page } from "../domain/lists.ts";
import { VERSION_PREFIX } from "./call.ts";
import type { ServiceLinks } from "./links.ts";
import type { Answer, Place } from "./route.ts";
import { template } from "./template.ts";
import type { Presenter, View } from "./view.ts";

export interface Identified {
  readonly id: string;
}

/** A new record, with what is shown this once and never again (a key, a secret, a sign-in link). */
export interface Created<R> {
  readonly record: R;
  readonly shown: Readonly<Record<string, string | null>>;
}

export const one = <R extends object>(view: View<R>, status = 200): Answer<R> => ({
  status,
  shape: { kind: "one", view, shownOnce: [] },
  present(record, presenter) {
    const { text, bytes, etag } = presenter.tagged(view, record);
    return { text, bytes, headers: {}, etag };
  },
});

/** 201 with Location. `at` is the path of the collection, where it is not the one that was posted to. */
export const created = <R extends Identified>(view: View<R>, at?: (record: R) => string): Answer<R> => ({
  ...one(view, CREATED),
  present: (record, presenter, place) => {
    const { text, etag } = presenter.once(view, record);
    return { text, etag, headers: { location: location(record, presenter, place, at) } };
  },
});

const CREATED = decide("4.create-status");

/** 201 of something with a secret part; `split` says what of the result is the resource and what is shown this once. */
export const createdOnce = <N, R extends Identified>(
  view: View<R>,
  names: readonly string[],
  split: (result: N, links: ServiceLinks) => Created<R>,
): Answer<N> => ({
  status: CREATED,
  shape: { kind: "one", view, shownOnce: names },
  present(result, presenter, place) {
    const { record, shown } = split(result, presenter.links);
    const { text, etag } = presenter.once(view, record);
    return {
      text: extended(text, shown),
      kept: extended(text, Object.fromEntries(names.map((name) => [name, null]))),
      headers: { location: location(record, presenter, place), "cache-control": "no-store" },
      etag,
    };
  },
});

const extended = (text: string, members: Created<unknown>["shown"]): string =>
  `${text.slice(0, -1)},${JSON.stringify(members).slice(1)}`;

function location<R extends Identified>(
  record: R,
  presenter: Presenter,
  place: Place,
  at?: (record: R) => string,
): string {
  const collection = at === undefined ? place.path : `${VERSION_PREFIX}${at(record)}`;
  return `${presenter.links.authUrl}${collection}/${record.id}`;
}

export const page = <R extends object>(view: View<R>): Answer<Page<R>> => ({
  status: 200,
  shape: { kind: "page", view, shownOnce: [] },
  present({ items, total, span }, presenter, place) {
    const opening = `${BEFORE_ITEMS}[`;
    const closing = `]${afterItems({ total, limit: span.limit, offset: span.offset })}`;
    let text = opening;
    let bytes = opening.length + closing.length + Math.max(items.length - 1, 0);
    for (const item of items) {
      const shown = presenter.text(view, item);
      text += text === opening ? shown.text : `,${shown.text}`;
      bytes += shown.bytes;
    }
    const link = links({ items, total, span }, presenter, place);
    return { text: text + closing, bytes, headers: link === "" ? {} : { link } };
  },
});

const [BEFORE_ITEMS = "", AFTER_ITEMS = ""] = decide("4.list-shape").split("<items>");
const afterItems = template(AFTER_ITEMS);

/** RFC 8288: where the next and the previous page are. */
function links({ total, span }: Page<unknown>, presenter: Presenter, place: Place): string {
  const to = (offset: number, rel: "next" | "prev") => {
    const at = { limit: String(span.limit), offset: String(offset) };
    return `<${presenter.links.authUrl}${place.path}?${withParameters(place.query, at)}>; rel="${rel}"`;
  };
  const found: string[] = [];
  if (span.offset + span.limit < total) found.push(to(span.offset + span.limit, "next"));
  if (span.offset > 0) found.push(to(Math.max(span.offset - span.limit, 0), "prev"));
  return found.join(", ");
}

/** The usual list has no query; reading one would cost it a microsecond or two of about 23. */
function withParameters(query: string, { limit, offset }: { readonly limit: string; readonly offset: string }): string {
  if (query === "") return `limit=${limit}&offset=${offset}`;
  const parameters = new URLSearchParams(query);
  parameters.set("limit", limit);
  parameters.set("offset", offset);
  return parameters.toString();
}

export const nothing: Answer<null> = {
  status: decide("4.delete-response"),
  shape: { kind: "nothing" },
  present: () => ({ text: "", headers: {} }),
};
