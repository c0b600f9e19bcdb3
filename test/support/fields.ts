// Rules of single fields, stated as values on both sides of each bound.
import assert from "node:assert/strict";
import type { Client, Members } from "./client.ts";
import { invalid } from "./problem.ts";

/** The event types of part 6, written again so that a wrong list in the sources is found. */
export const EVENT_TYPES = [
  "app.created",
  "app.updated",
  "app.deployed",
  "app.deleted",
  "data.processed",
  "user.interaction",
];

interface FieldRule {
  field: string;
  /** Accepted, and returned as sent. */
  good?: readonly unknown[];
  /** Rejected with a 422 that points at the field. */
  bad?: readonly unknown[];
  /** The pointer of the validation issue for bad values that are containers: "#/events/0". */
  at?: string;
}

/** Tries every value of the rules in a request whose other members are `rest`: "POST /apps", or "PATCH" and a path. */
export async function fieldRules(
  api: Client,
  request: string,
  rest: Members,
  ...rules: FieldRule[]
) {
  const [method = "", path = ""] = request.split(" ");
  for (const { field, good = [], bad = [], at = `#/${field}` } of rules) {
    for (const value of good) {
      const answer = await api.call(method, path, { ...rest, [field]: value });
      assert.ok([200, 201].includes(answer.status), answer.text);
      assert.deepEqual(answer.json[field], value);
    }
    for (const value of bad) invalid(await api.call(method, path, { ...rest, [field]: value }), at);
  }
}

/** Asserts that POST without `field` is rejected by name, and that the error for an empty body names all fields. */
export async function requiredFields(api: Client, path: string, whole: Members) {
  const names = Object.keys(whole);
  for (const name of names) {
    invalid(await api.post(path, { ...whole, [name]: undefined }), `#/${name}`);
  }
  invalid(await api.post(path, {}), ...names.map((name) => `#/${name}`));
}

/** `count` characters outside the basic plane: twice as many UTF-16 units, four times as many bytes. */
export const wide = (count: number) => "\u{1F600}".repeat(count);

export const NOT_TEXT: readonly unknown[] = [null, 5, true, [], {}, ["a"]];
/** Text of `min` (0 or 1) to `max` characters is accepted; other text, and values that are no text, are not. */
export const textBounds = (min: 0 | 1, max: number) => ({
  good: ["t".repeat(min), "t".repeat(max), wide(max)],
  bad: ["t".repeat(max + 1), wide(max + 1), ...(min === 0 ? [] : [""]), ...NOT_TEXT],
});
export const NOT_FLAG: readonly unknown[] = [null, 0, 1, "true", "", [], {}];
export const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Matches a generated id of this kind: prefix, then 20 or more letters and digits. */
export const idOf = (prefix: string) => new RegExp(`^${prefix}_[0-9A-Za-z]{20,}$`);
