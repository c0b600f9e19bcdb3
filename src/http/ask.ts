// What an operation is asked and what it answers. The API comes here with a request, a page of the dashboard with what a
// person typed; so neither is allowed more than the other, and both show the same.
import type { Page } from "../domain/lists.ts";
import { Refusal } from "../domain/refusal.ts";
import { trusted } from "../kit/schema.ts";
import type { Call, Reply } from "./call.ts";
import { readFields } from "./input.ts";
import type { Asked, Operation } from "./route.ts";
import type { Presenter } from "./view.ts";

/** The resource, the fields, and then the operation itself, which judges states. */
export async function ask(row: Operation, asked: Asked, sent: unknown): Promise<unknown> {
  const there = row.target && (await row.target.run(Object.assign(asked, { body: undefined })));
  if (there instanceof Refusal) return there;
  const body = row.body && (await readFields(row.body(asked.services), sent));
  if (body instanceof Refusal) return body;
  // Not a copy by spread, here and for the headers below: that cost each request 4 and 10 us.
  return row.run(Object.assign(asked, { body }));
}

/** The answer to what went well. `isKept`: as it comes again, without what is shown once. */
export function answered(
  { status, headers: own, view, location, once }: Operation,
  result: unknown,
  presenter: Presenter,
  { path, query }: Pick<Call, "path" | "query">,
  isKept = false,
): Reply {
  const headers: Reply["headers"] = Object.assign({}, own);
  if (view === undefined) return { status, headers, body: "" };
  const { links } = presenter;
  if (view.kind === "page") {
    const link = neighbours(trusted(result), links.authUrl + path, query);
    if (link !== "") headers.link = link;
  }
  if (view.kind !== "one") return { status, headers, body: view.text(result, presenter) };
  const record = trusted<object>(result);
  const { text, etag } = location ? presenter.fresh(view, record) : presenter.shown(view, record);
  headers.etag = etag;
  if (location) headers.location = links.baseUrl + location(record);
  if (once === undefined) return { status, headers, body: text };
  const shown = Object.entries(once).map(([name, of]) => [name, isKept ? null : of(record, links)]);
  return { status, headers, body: `${text.slice(0, -1)},${JSON.stringify(Object.fromEntries(shown)).slice(1)}` };
}

/** RFC 8288: where the next and the previous page are. */
function neighbours({ total, span: { limit, offset } }: Page<unknown>, url: string, query: string): string {
  const to = (at: number, rel: "next" | "prev") => {
    const span = { limit: String(limit), offset: String(at) };
    // The usual list has no query; reading one would cost it a microsecond or two of about 23.
    const given = query === "" ? {} : Object.fromEntries(new URLSearchParams(query));
    return `<${url}?${new URLSearchParams({ ...given, ...span })}>; rel="${rel}"`;
  };
  const found: string[] = [];
  if (offset + limit < total) found.push(to(offset + limit, "next"));
  if (offset > 0) found.push(to(Math.max(offset - limit, 0), "prev"));
  return found.join(", ");
}
