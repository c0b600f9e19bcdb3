// Assertions on text as people read it: "…" stands for anything, as in the README.
import assert from "node:assert/strict";

/** The source of a regular expression for the text. */
export const toPattern = (text: string) =>
  text
    .split("…")
    .map((piece) => piece.replace(/[^\w\s]/g, "\\$&"))
    .join(".*");

/** The first group of every match. */
export const groups = (text: string, pattern: RegExp) =>
  Array.from(text.matchAll(pattern), ([, group = ""]) => group);

export const contains = (output: unknown, text: string) =>
  assert.match(String(output), new RegExp(toPattern(text), "s"));

export const begins = (output: unknown, text: string) =>
  assert.match(String(output), new RegExp(`^${toPattern(text)}`, "s"));
