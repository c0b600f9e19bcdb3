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

/** Returns one text for each absolute value: its digits without outer zeros, and the power of ten that multiplies them. */
function toCanonical(text: string): string {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = whole + fraction;
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  const significant = digits.slice(0, end).replace(/^0+/, "");
  return significant && `${significant}e${Number(exponent) + whole.length - end}`;
}

/**
 * Replaces numbers in `parsed` by their text. `written` is the same value, with each unusually written number as
 * text.
 */
export type KeepNumbers = (parsed: unknown, written: unknown) => void;

/** Parses JSON. Calls `keep` if a number is out of range or not written as JavaScript writes it. */
export function parseJsonKeeping(json: string, keep: KeepNumbers): unknown {
  const parsed: unknown = JSON.parse(json);
  const quoted = quoteNumbers(json);
  if (quoted !== json) keep(parsed, JSON.parse(quoted));
  return parsed;
}

/** Quotes numbers that are out of range or unusually written; `json` must be valid. */
function quoteNumbers(json: string): string {
  const quoteOrNumber = /"|-?\d[\d.eE+-]*/g;
  let quoted = "";
  let copiedUntil = 0;
  for (let match = quoteOrNumber.exec(json); match; match = quoteOrNumber.exec(json)) {
    const [text] = match;
    const value = Number(text);
    if (text === '"') quoteOrNumber.lastIndex = findStringEnd(json, match.index);
    else if (String(value) !== text || !isWithinRange(value)) {
      quoted += `${json.slice(copiedUntil, match.index)}"${text}"`;
      copiedUntil = quoteOrNumber.lastIndex;
    }
  }
  return quoted + json.slice(copiedUntil);
}

/** A loop, because a regular expression overflows its stack on a string of some MiB. */
function findStringEnd(json: string, start: number): number {
  let end = start + 1;
  while (json[end] !== '"') end += json[end] === "\\" ? 2 : 1;
  return end + 1;
}
