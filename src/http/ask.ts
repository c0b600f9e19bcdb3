// Runs an operation on what was read: the resource, the fields, and then the operation itself, which judges states. The API
// comes here with a request, a page of the dashboard with what a person typed; so neither is allowed more than the other.
import { Refusal } from "../domain/refusal.ts";
import { readFields } from "./input.ts";
import type { Base, Operation } from "./route.ts";

export async function ask(
  row: Operation,
  { unit, caller, params, services }: Base,
  query: unknown,
  sent: unknown,
  expect: (record: object) => Refusal | undefined,
): Promise<unknown> {
  const there = row.target && (await row.target.find({ unit, caller, params, services }));
  if (there instanceof Refusal) return there;
  const body = await readFields(row.bodyIn(services), sent);
  if (body instanceof Refusal) return body;
  return await row.run({ unit, caller, params, services, query, body, expect });
}
