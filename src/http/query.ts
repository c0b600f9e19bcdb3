// The query of a request as names and values. What cannot be read, and a name that comes twice, is a fault; which names
// and values an operation takes, its row says.
import type { FieldError } from "../domain/refusal.ts";
import type { RawQuery } from "./route.ts";

const NONE: RawQuery = {};

export function queryOf(raw: string, faults: FieldError[]): RawQuery {
  if (raw === "") return NONE;
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(raw)) {
    if (Object.hasOwn(query, name)) faults.push({ parameter: name, detail: "is given more than once" });
    query[name] = value;
  }
  return query;
}
