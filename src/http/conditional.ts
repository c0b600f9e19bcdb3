// Conditional requests (RFC 9110 13): If-Match and If-None-Match against the strong ETag of one resource.
import { type FieldError, type Refusal, refuse } from "../domain/refusal.ts";
import type { Call } from "./call.ts";

const ENTITY_TAG = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** Undefined where the header is absent; "*" or the listed tags. */
type Tags = "*" | readonly string[] | undefined;

export interface Conditions {
  readonly match: Tags;
  readonly noneMatch: Tags;
}

/** RFC 9110 13.1.1: a change that was made of an older version changes nothing. */
const FAILED = refuse({ code: "precondition_failed" });

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

/** What the conditions say of a resource that exists with this ETag: 412, or for a reader that it is what they have. */
export function judge(conditions: Conditions, etag: string): Refusal | "not-modified" | undefined {
  const { match, noneMatch } = conditions;
  if (match !== undefined && match !== "*" && !match.includes(etag)) return FAILED;
  const same = noneMatch === "*" || noneMatch?.some((tag) => tag.replace(/^W\//, "") === etag);
  return same ? "not-modified" : undefined;
}

/** The same before a change, which what they have forbids. */
export const forbids = (conditions: Conditions, etag: string): Refusal | undefined =>
  judge(conditions, etag) === undefined ? undefined : FAILED;
