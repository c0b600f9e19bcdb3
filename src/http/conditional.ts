// Conditional requests (RFC 9110 13): If-Match and If-None-Match against the strong ETag of one resource.
import { type FieldError, type Refusal, refuse } from "../domain/refusal.ts";
import { type Call, empty, type Reply } from "./call.ts";

const ENTITY_TAG = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** Undefined where the header is absent; "*" or the listed tags. */
type Tags = "*" | readonly string[] | undefined;

export interface Conditions {
  readonly match: Tags;
  readonly noneMatch: Tags;
}

const NO_CONDITIONS: Conditions = { match: undefined, noneMatch: undefined };

export function conditionsOf(call: Call, faults: FieldError[]): Conditions {
  const { headers } = call;
  if (headers["if-match"] === undefined && headers["if-none-match"] === undefined) return NO_CONDITIONS;
  return { match: tags(call, "If-Match", faults), noneMatch: tags(call, "If-None-Match", faults) };
}

function tags(call: Call, header: string, faults: FieldError[]): Tags {
  const values = call.values(header.toLowerCase());
  if (values.length === 0) return undefined;
  const whole = values.join(",").trim();
  if (whole === "*") return "*";
  const listed = whole.match(/(W\/)?"[^"]*"|[^",\s]+/g) ?? [];
  const wellFormed = listed.length > 0 && listed.every((tag) => ENTITY_TAG.test(tag));
  if (!wellFormed) faults.push({ header, detail: "must be * or a list of entity tags in double quotes" });
  return listed;
}

/** RFC 9110 13.1.1: a change that was made of an older version changes nothing. */
const FAILED = refuse({ code: "precondition_failed" });

const fails = ({ match }: Conditions, etag: string): boolean =>
  match !== undefined && match !== "*" && !match.includes(etag);

const isKnown = ({ noneMatch }: Conditions, etag: string): boolean =>
  noneMatch === "*" || noneMatch?.some((tag) => tag.replace(/^W\//, "") === etag) === true;

/** What the conditions say to a change of the resource that has this ETag. */
export const forbids = (conditions: Conditions, etag: string): Refusal | undefined =>
  fails(conditions, etag) || isKnown(conditions, etag) ? FAILED : undefined;

/** What they make of the answer to a reader: 412, or 304 where it is what they have. */
export function judged(conditions: Conditions, reply: Reply): Reply | Refusal {
  const { etag } = reply.headers;
  if (typeof etag !== "string") return reply;
  if (fails(conditions, etag)) return FAILED;
  return isKnown(conditions, etag) ? empty(304, { etag }) : reply;
}
