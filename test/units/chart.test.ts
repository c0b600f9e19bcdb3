// Which chart a table becomes (web/sites/chart): its columns, its kind, its points, and the round numbers beside it.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Column } from "../../src/domain/model.ts";
import { chartOf, horizontal, roundBetween, ticksOf } from "../../src/web/sites/chart.ts";

const column = (text: string): Column => {
  const [name = "", type = ""] = text.split(":");
  const types = { s: "string", n: "number", b: "boolean", d: "datetime" } as const;
  return { name, type: type === "n" || type === "b" || type === "d" ? types[type] : "string" };
};
const chart = (columns: string, ...rows: readonly (readonly (string | number | boolean | null)[])[]) => {
  const all = columns.split(" ").map(column);
  return chartOf(
    all,
    rows.map((cells) => Object.fromEntries(all.map(({ name }, at) => [name, cells[at] ?? null]))),
  );
};
const shape = (made: ReturnType<typeof chart>) =>
  made && [made.kind, made.x.name, made.y.name, made.category?.name ?? null, made.points.length];

test("chart: the first number over names is bars, over time a line, over another number points", () => {
  assert.deepEqual(shape(chart("a:s b:n", ["x", 1], ["y", 2])), ["bars", "a", "b", null, 2]);
  assert.deepEqual(shape(chart("n:n at:d", [1, "2026-01-01"], [2, "2026-01-02"])), ["line", "at", "n", null, 2]);
  assert.deepEqual(shape(chart("p:n q:n", [1, 5], [2, 6])), ["points", "p", "q", null, 2]);
});

test("chart: few other names or truths are a category, one or nine are not", () => {
  const rows = (kinds: number) => Array.from({ length: 18 }, (_, at) => [`m${at}`, at % kinds, `k${at % kinds}`]);
  const category = (kinds: number) => shape(chart("m:s v:n k:s", ...rows(kinds)))?.[3];
  assert.deepEqual([category(1), category(2), category(8), category(9)], [null, "k", "k", null]);
  assert.equal(shape(chart("m:s v:n ok:b", ["a", 1, true], ["a", 2, false]))?.[3], "ok");
});

test("chart: names that repeat are drawn as points, or give way to a second number", () => {
  assert.deepEqual(shape(chart("a:s b:n", ["x", 1], ["x", 2])), ["points", "a", "b", null, 2]);
  assert.deepEqual(shape(chart("a:s b:n c:n", ["x", 1, 3], ["x", 2, 4], ["y", 2, 5])), ["points", "b", "c", "a", 3]);
});

test("chart: none where there is no number, nothing beside it, or no row with both", () => {
  assert.equal(chart("a:s b:s", ["x", "y"]), undefined);
  assert.equal(chart("a:n", [1]), undefined);
  assert.equal(chart("a:s b:n"), undefined);
  assert.equal(chart("a:s b:n", ["x", null], [null, 2]), undefined);
});

test("chart: a point keeps its row and its values; text is cut to what an event carries", () => {
  const made = chart("a:s b:n", [null, 1], ["x".repeat(1_001), -2.5], [`${"y".repeat(999)}\u{1f600}`, 0]);
  const [first, second] = made?.points ?? [];
  assert.deepEqual({ ...first, x: first?.x.toString().length }, { row: 1, x: 1_000, y: -2.5, category: null });
  assert.ok(second?.x.toString().isWellFormed());
});

test("chart: ticks are round and hold every value; bars and lines stand on zero", () => {
  const ticks = (...values: readonly number[]) => {
    const made = chart("a:s b:n", ...values.map((value, at) => [`n${at}`, value]));
    return made && ticksOf(made);
  };
  assert.deepEqual(ticks(3, 97), [0, 25, 50, 75, 100]);
  assert.deepEqual(ticks(-7, 2), [-7.5, -5, -2.5, 0, 2.5]);
  assert.deepEqual(ticks(0, 0), [0, 0.25]);
  assert.deepEqual(ticks(0.1, 0.3), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(ticks(1e15), [0, 2.5e14, 5e14, 7.5e14, 1e15]);
  assert.deepEqual(roundBetween(0, 47), [0, 20, 40]);
  assert.deepEqual(roundBetween(5, 5), [5]);
});

test("chart: none where no scale holds the numbers or tells them apart", () => {
  for (const values of [[5e-324, 0], [5e-324], [1.7e308, 1], [1.7e308, -1.7e308], [1e16, 1e16 + 2]]) {
    assert.equal(chart("p:n q:n", ...values.map((value, at) => [at, value])), undefined, `y ${values}`);
  }
  assert.equal(chart("p:n q:n", [1.7e308, 1], [-1.7e308, 2]), undefined);
  assert.ok(chart("p:n q:n", [1, 1e-300], [2, 2e-300]));
});

test("chart: every point lies within the drawing", () => {
  for (const made of [
    chart("a:s b:n", ["x", 1], ["y", 2], ["z", 3]),
    chart("p:n q:n", [-5, 5], [2, 6], [90, 1]),
    chart("p:n q:n", [3, 5], [3, 6]),
    chart("at:d n:n", ["2026-01-01T10:00:00Z", 1], ["2026-01-01T11:00:00Z", 2]),
  ]) {
    assert.ok(made);
    const across = made.points.map(({ x }) => horizontal(made)(x));
    assert.ok(
      across.every((place) => place > 0 && place < 1),
      String(across),
    );
    assert.deepEqual(
      across,
      across.toSorted((a, b) => a - b),
    );
  }
});
