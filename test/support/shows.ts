// Whether a command printed what a page or the README shows of it.
import assert from "node:assert/strict";

/** Each line that is shown stands in the output; "…" is anything, at the end of a line as well. */
export function shows(output: string, shown: string): void {
  for (const line of shown.trimEnd().split("\n")) {
    const pattern = line.split("…").map((piece) => piece.replace(/[^\w\s]/g, "\\$&"));
    assert.match(output, new RegExp(`^${pattern.join(".*")}$`, "m"));
  }
}
