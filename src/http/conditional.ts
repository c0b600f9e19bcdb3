// Conditional requests (RFC 9110 13): If-Match and If-None-Match against the strong ETag of one resource.
import { type FieldError, type Refusal, refuse } from "../domain/refusal.ts";
import { type Call, empty, header, type Reply } from "./call.ts";

const ENTITY_TAG = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** The listed tags of each header, or "*" alone; undefined where the header is absent. */
export type Conditions = { readonly [header in "match" | "noneMatch"]: readonly string[] | undefined };

/** Undefined where there are none, so that no ETag is made to be compared with nothing. */
export function conditionsOf(call: Call, faults: FieldError[]): Conditions | undefined {
  const match = tags(call, "if-match", "If-Match", faults);
  const noneMatch = tags(call, "if-none-match", "If-None-Match", faults);
  return match || noneMatch ? { match, noneMatch } : undefined;
}

/** `key`: the name as Node has it; to make it of the other at each request costs more than to look. */
function tags(call: Call, key: string, name: string, faults: FieldError[]): readonly string[] | undefined {
  const given = header(call, key);
  if (given === undefined) return undefined;
  const listed = given.match(/(W\/)?"[^"]*"|[^",\s]+/g) ?? [];
  const isFit = given.trim() === "*" || (listed.length > 0 && listed.every((tag) => ENTITY_TAG.test(tag)));
  if (!isFit) faults.push({ header: name, detail: "must be * or a list of entity tags in double quotes" });
  return listed;
}

/** RFC 9110 13.1.1: a change that was made of an older version changes nothing. */
const FAILED = refuse({ code: "precondition_failed" });

function judge({ match, noneMatch }: Conditions, etag: string): "failed" | "known" | undefined {
  const names = (tag: string) => tag === "*" || tag === etag;
  if (match && !match.some(names)) return "failed";
  return noneMatch?.some((tag) => names(tag.replace(/^W\//, ""))) ? "known" : undefined;
}

/** What the conditions say to a change of the resource that has this ETag. */
export const forbids = (conditions: Conditions, etag: string): Refusal | undefined => judge(conditions, etag) && FAILED;

/** What they make of the answer to a reader: 412, or 304 where it is what they have. */
export function judged(conditions: Conditions, reply: Reply): Reply | Refusal {
  const { etag } = reply.headers;
  if (etag === undefined) return reply;
  const verdict = judge(conditions, etag);
  if (verdict === "failed") return FAILED;
  return verdict === "known" ? empty(304, { etag }) : reply;
}
