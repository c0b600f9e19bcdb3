// Assertions on text as people read it: "…" stands for anything, as in the README.
import assert from "node:assert/strict";

/** The source of a regular expression for the text. */
export const toPattern = (text: string) =>
  text
    .split("…")
    .map((piece) => piece.replace(/[^\w\s]/g, "\\$&"))
    .join(".*");

export const contains = (output: string, text: string) =>
  assert.match(output, new RegExp(toPattern(text), "s"));

export const begins = (output: string, text: string) =>
  assert.match(output, new RegExp(`^${toPattern(text)}`, "s"));
