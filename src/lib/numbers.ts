// Numbers that are never rounded silently (contract, part 2). JSON.parse returns the nearest double and drops the
// original spelling. JSON with such numbers is therefore parsed a second time with them quoted.

/** Whether the number is finite and, where it is an integer, between -(2^53 - 1) and 2^53 - 1. */
export const isWithinRange = (value: number): boolean =>
  Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);

/** Whether a double has exactly the value of the decimal number, and the number is within range. */
export function isExactNumber(text: string): boolean {
  const value = Number(text);
  const shortest = String(value);
  return isWithinRange(value) && (shortest === text || toCanonical(shortest) === toCanonical(text));
}

/** Returns one text for each value: its digits without outer zeros, and the power of ten that multiplies them. */
function toCanonical(text: string): string {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = whole + fraction;
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  const significant = digits.slice(0, end).replace(/^0+/, "");
  const sign = text.startsWith("-") ? "-" : "";
  return significant === ""
    ? "0"
    : `${sign}${significant}e${Number(exponent) + whole.length - end}`;
}

/**
 * Replaces numbers in `parsed` by their text. `written` is the same value, with each unusually written number as
 * text.
 */
export type KeepNumbers = (parsed: unknown, written: unknown) => void;

/** Parses JSON. Calls `keep` if a number is out of range or not written as JavaScript writes it. */
export function parseJsonKeeping(json: string, keep: KeepNumbers | undefined): unknown {
  const parsed: unknown = JSON.parse(json);
  const quoted = keep ? quoteNumbers(json) : json;
  if (quoted !== json) keep?.(parsed, JSON.parse(quoted));
  return parsed;
}

/** A string, or a number outside strings; `json` must be valid. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Quotes numbers that are out of range or unusually written. */
const quoteNumbers = (json: string): string =>
  json.replace(STRING_OR_NUMBER, (token) => {
    if (token.startsWith('"')) return token;
    const value = Number(token);
    return String(value) === token && isWithinRange(value) ? token : `"${token}"`;
  });
