// The forms of the specification, read as widely as it leaves them open: any 2xx succeeds, a list is bare or wrapped.
import assert from "node:assert/strict";
import { type Answer, isMembers, type Members, str } from "./client.ts";

/** ISO 8601 has two ways to write UTC, and fractions of any length. */
const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|\+00(:?00)?)$/;
/** Tolerance for the difference between two clocks; smaller than the offset between any two time zones. */
const SKEW_MS = 10 * 60_000;

const SHOWN_MAX = 200;
const shortened = (text: string) =>
  text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)} …` : text;

export const succeeded = ({ status }: Answer) => status >= 200 && status < 300;

/** Asserts that the operation succeeded. */
export function done(answer: Answer) {
  assert.ok(succeeded(answer), `answered ${answer.status} ${shortened(answer.text)}`);
  return answer;
}

/** A time in UTC, near the present. */
export function isNow(time: unknown) {
  assert.match(str(time), ISO_UTC);
  const apart_ms = Math.abs(Date.parse(str(time).replace(",", ".")) - Date.now());
  assert.ok(apart_ms < SKEW_MS, `${time} is not near the present`);
}

/** The apps of a page: the array itself, or its longest array member. */
export function listIn({ value, text }: Answer) {
  const wrapped = isMembers(value) ? Object.values(value).filter(Array.isArray) : [];
  const list = Array.isArray(value) ? value : wrapped.sort((a, b) => b.length - a.length)[0];
  assert.ok(Array.isArray(list) && list.every(isMembers), `no list of apps in ${shortened(text)}`);
  return list;
}

export const ids = (apps: readonly Members[]) => apps.map(({ id }) => id);

/** Returns a body that is a JSON object, or an empty object. */
export function objectIn(text: string) {
  try {
    const value: unknown = JSON.parse(text);
    return isMembers(value) ? value : {};
  } catch {
    return {};
  }
}
