// Conditional requests (RFC 9110 13): If-Match and If-None-Match against the strong ETag of one resource.
import { type FieldError, type Refusal, refuse } from "../domain/refusal.ts";
import type { Call } from "./call.ts";

const ENTITY_TAG = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** The listed tags of each header, or "*" alone; undefined where the header is absent. */
type Conditions = { readonly [header in "match" | "noneMatch"]: readonly string[] | undefined };

/** Undefined where there are none, so that no ETag is made to be compared with nothing. */
export function conditionsOf(call: Call, faults: FieldError[]): Conditions | undefined {
  const match = tags(call, "if-match", "If-Match", faults);
  const noneMatch = tags(call, "if-none-match", "If-None-Match", faults);
  return match || noneMatch ? { match, noneMatch } : undefined;
}

/** `key`: the name as Node has it; to make it of the other at each request costs more than to look. */
function tags(call: Call, key: string, name: string, faults: FieldError[]): readonly string[] | undefined {
  const values = call.values(key);
  if (values.length === 0) return undefined;
  const given = values.join();
  const listed = given.match(/(W\/)?"[^"]*"|[^",\s]+/g) ?? [];
  const isFit = given.trim() === "*" || (listed.length > 0 && listed.every((tag) => ENTITY_TAG.test(tag)));
  if (!isFit) faults.push({ header: name, detail: "must be * or a list of entity tags in double quotes" });
  return listed;
}

/** RFC 9110 13.1.1: a change that was made of an older version changes nothing. */
export const FAILED = refuse({ code: "precondition_failed" });

/** What they make of what has this ETag: nothing where it may go on, `known` where it is what the caller has. */
export function judged<K>({ match, noneMatch }: Conditions, etag: string, known: K): Refusal | K | undefined {
  const names = (tag: string) => tag === "*" || tag === etag;
  if (match && !match.some(names)) return FAILED;
  return noneMatch?.some((tag) => names(tag.replace(/^W\//, ""))) ? known : undefined;
}
