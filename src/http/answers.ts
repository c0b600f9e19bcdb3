// The few forms that a success takes: one resource, a created one, a page of a list, nothing (spec part 4 shows the
// created app; contract part 4 the rest).
import { decide } from "../decisions.ts";
import type { Page } from "../domain/lists.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { VERSION_PREFIX } from "./call.ts";
import type { ServiceLinks } from "./links.ts";
import type { Outcome, Place } from "./route.ts";
import { template } from "./template.ts";
import type { Presenter, View } from "./view.ts";

interface Identified {
  readonly id: string;
}

export const one = <R extends object>(view: View<R>, status = 200): Outcome<R> => ({
  status,
  shape: { kind: "one", view, shownOnce: [] },
  present: (record, presenter) => presenter.tagged(view, record),
});

const CREATED = decide("4.create-status");

/** 201 with Location. `at` is the path of the collection, where it is not the one that was posted to. */
export const created = <R extends Identified>(view: View<R>, at?: (record: R) => string): Outcome<R> => ({
  ...one(view, CREATED),
  present(record, presenter, place) {
    const location = `${presenter.links.authUrl}${at ? VERSION_PREFIX + at(record) : place.path}/${record.id}`;
    const { text, etag } = presenter.once(view, record);
    return { text, etag, headers: { location } };
  },
});

/** A new record, with what is shown this once and never again (a key, a secret, a sign-in link). */
interface Once<R> {
  readonly record: R;
  readonly shown: Readonly<Record<string, string | null>>;
}

/** 201 of something with a secret part; `split` says what of the result is the resource and what is shown this once. */
export const createdOnce = <N, R extends Identified>(
  view: View<R>,
  names: readonly string[],
  split: (result: N, links: ServiceLinks) => Once<R>,
): Outcome<N> => ({
  status: CREATED,
  shape: { kind: "one", view, shownOnce: names },
  present(result, presenter, place) {
    const { record, shown } = split(result, presenter.links);
    const { text, headers, ...tag } = created(view).present(record, presenter, place);
    return {
      ...tag,
      text: extended(text, shown),
      kept: extended(text, Object.fromEntries(names.map((name) => [name, null]))),
      headers: { ...headers, "cache-control": "no-store" },
    };
  },
});

const extended = (text: string, members: object): string => `${text.slice(0, -1)},${JSON.stringify(members).slice(1)}`;

export const page = <R extends object>(view: View<R>): Outcome<Page<R>> => ({
  status: 200,
  shape: { kind: "page", view, shownOnce: [] },
  present({ items, total, span }, presenter, place) {
    const texts = items.map((item) => presenter.text(view, item)).join(",");
    const link = links({ items, total, span }, presenter, place);
    const after = afterItems({ total, limit: span.limit, offset: span.offset });
    return { text: `${BEFORE_ITEMS}[${texts}]${after}`, headers: link === "" ? {} : { link } };
  },
});

const [BEFORE_ITEMS = "", AFTER_ITEMS = ""] = decide("4.list-shape").split("<items>");
const afterItems = template(AFTER_ITEMS);

/** RFC 8288: where the next and the previous page are. */
function links({ total, span: { limit, offset } }: Page<unknown>, { links }: Presenter, place: Place): string {
  const to = (at: number, rel: "next" | "prev") => {
    const span = `limit=${limit}&offset=${at}`;
    // The usual list has no query; reading one would cost it a microsecond or two of about 23.
    const query = place.query === "" ? span : withParameters(place.query, span);
    return `<${links.authUrl}${place.path}?${query}>; rel="${rel}"`;
  };
  const found: string[] = [];
  if (offset + limit < total) found.push(to(offset + limit, "next"));
  if (offset > 0) found.push(to(Math.max(offset - limit, 0), "prev"));
  return found.join(", ");
}

function withParameters(query: string, set: string): string {
  const parameters = new URLSearchParams(query);
  for (const [name, value] of new URLSearchParams(set)) parameters.set(name, value);
  return parameters.toString();
}

/** JSON that is no resource. */
export const plain = (json: JsonSchema, status = 200): Outcome<unknown> => ({
  status,
  shape: { kind: "plain", view: { name: "", json } },
  present: (value) => ({ text: JSON.stringify(value), headers: { "cache-control": "no-store" } }),
});

export const nothing: Outcome<unknown> = {
  status: decide("4.delete-response"),
  shape: { kind: "nothing" },
  present: () => ({ text: "", headers: {} }),
};
