// Which chart a table becomes (web/sites/chart): its columns, its kind, its points, and what is written along its axes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Column } from "../../src/domain/model.ts";
import { chartOf, inWords } from "../../src/web/sites/chart.ts";

const column = (text: string): Column => {
  const [name = "", type = ""] = text.split(":");
  const types = { s: "string", n: "number", b: "boolean", d: "datetime" } as const;
  return { name, type: type === "n" || type === "b" || type === "d" ? types[type] : "string" };
};
type Rows = readonly (readonly (string | number | boolean | null)[])[];
const chosen = (wanted: string | undefined, columns: string, ...rows: Rows) => {
  const all = columns.split(" ").map(column);
  const named = rows.map((cells) => Object.fromEntries(all.map(({ name }, at) => [name, cells[at] ?? null])));
  return chartOf(
    all,
    named,
    all.find(({ name, type }) => name === wanted && type === "number"),
  );
};
const chart = (columns: string, ...rows: Rows) => chosen(undefined, columns, ...rows);
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
  assert.deepEqual(
    { ...first, x: first?.x.toString().length },
    { row: 1, place: 0, x: 1_000, y: -2.5, category: null },
  );
  assert.ok(second?.x.toString().isWellFormed());
});

test("chart: neither ids nor counters are drawn where there is another number, and the reader may choose", () => {
  const rows = [7, 5, 6].map((n, at) => [`d${at}`, at + 3, 10 * n, n, n + 0.5] as const);
  const columns = "day:s nr:n user_id:n visitors:n price:n";
  const drawn = (wanted?: string) => shape(chosen(wanted, columns, ...rows))?.slice(1, 3);
  assert.deepEqual(drawn(), ["day", "visitors"]);
  assert.deepEqual(drawn("price"), ["day", "price"]);
  assert.deepEqual(drawn("nr"), ["day", "nr"]);
  assert.deepEqual(chosen("", columns, ...rows)?.ys.length, 4);
  assert.deepEqual(shape(chart("id:n n:n", [4, 5], [9, 6])), ["points", "id", "n", null, 2]);
  assert.deepEqual(shape(chart("a:s id:n", ["x", 5], ["y", 6])), ["bars", "a", "id", null, 2], "rather that than none");
});

test("chart: more than 200 names are points, not bars", () => {
  const kind = (count: number) =>
    chart("a:s b:n", ...Array.from({ length: count }, (_, at) => [`n${at}`, at % 9]))?.kind;
  assert.deepEqual([kind(200), kind(201)], ["bars", "points"]);
});

const texts = (axis: { readonly labels: readonly (readonly [number, string])[] } | undefined) =>
  axis?.labels.map(([, text]) => text);

test("chart: an axis ends at its largest value, round ones along it; bars and lines stand on zero", () => {
  const up = (...values: readonly number[]) => chart("a:s b:n", ...values.map((value, at) => [`n${at}`, value]))?.up;
  assert.deepEqual(texts(up(3, 97)), ["0", "20", "40", "60", "80"]);
  assert.deepEqual([up(3, 97)?.at(0), up(3, 97)?.at(97)], [0, 1]);
  assert.deepEqual(texts(up(-7, 2)), ["-6", "-4", "-2", "0", "2"].slice(0, 5));
  assert.deepEqual(texts(up(0, 0)), ["0"]);
  assert.deepEqual(texts(up(0.001, 0.003)), ["0", "0.0005", "0.001", "0.0015", "0.002", "0.0025", "0.003"]);
  assert.deepEqual(texts(up(1_020, 990)), ["0", "200", "400", "600", "800", "1000"]);
  assert.deepEqual(texts(up(9_999, 10_200)), ["0", "2000", "4000", "6000", "8000", "10K"]);
  assert.deepEqual(texts(up(2e15)), ["0", "500T", "1e+15", "1.5e+15", "2e+15"]);
  assert.deepEqual(texts(up(1e290)), ["0", "2e+289", "4e+289", "6e+289", "8e+289", "1e+290"]);
  const years = chart("year:n b:n", [2019, 1], [2024, 7])?.across;
  assert.deepEqual(texts(years)?.slice(0, 3), ["2019", "2019.5", "2020"]);
  const points = chart("a:n b:n", [5, 1_000_000], [5, 1_020_000]);
  assert.deepEqual(texts(points?.up)?.slice(0, 2), ["1M", "1.005M"]);
  assert.deepEqual([points?.across.at(5), texts(points?.across)], [0.5, ["5"]]);
});

test("chart: times are written as the step between them asks", () => {
  const across = (...times: readonly string[]) =>
    texts(chart("t:d n:n", ...times.map((at, n) => [at, n]))?.across)?.join(", ");
  assert.equal(across("2026-10-13"), "13 Oct 2026");
  assert.equal(
    across("2026-10-13", "2026-10-16"),
    "13 Oct, 06:00, 12:00, 18:00, 14 Oct, 06:00, 12:00, 18:00, 15 Oct, 06:00, 12:00, 18:00, 16 Oct",
  );
  assert.equal(
    across("2026-10-13", "2026-10-18"),
    "13 Oct, 12:00, 14 Oct, 12:00, 15 Oct, 12:00, 16 Oct, 12:00, 17 Oct, 12:00, 18 Oct",
  );
  assert.equal(
    across("2026-10-13T09:48Z", "2026-10-13T10:30+00:00"),
    "09:50, 09:55, 10:00, 10:05, 10:10, 10:15, 10:20, 10:25, 10:30",
  );
  assert.equal(across("2026-01-15", "2026-05-31"), "Feb 2026, Mar 2026, Apr 2026, May 2026");
  assert.equal(
    across("1999-06-15", "2002-02-01"),
    "Jul 1999, Oct 1999, Jan 2000, Apr 2000, Jul 2000, Oct 2000, Jan 2001, Apr 2001, Jul 2001, Oct 2001, Jan 2002",
  );
  assert.equal(across("0001-01-01", "2026-01-01"), "500, 1000, 1500, 2000");
});

test("chart: a point reads as people write it", () => {
  const said = (x: string | number, y: number) => {
    const made = chart(typeof x === "number" ? "a:n visitors:n" : "a:s visitors:n", [x, y]);
    return made?.points[0] && inWords(made.y, made.points[0]);
  };
  assert.equal(said("2026-10-13", 1_020), "13 Oct 2026, 1,020 visitors");
  assert.equal(said("2026-10-13T14:05:00Z", 1), "13 Oct 2026, 14:05, 1 visitors");
  assert.equal(said("2026-03", 48_250.5), "March 2026, 48,250.5 visitors");
  assert.equal(said("2026-13", 1e-9), "2026-13, 1e-9 visitors");
  assert.equal(said(1_234.5, 1e290), "1,234.5, 1e+290 visitors");
});

test("chart: none where no scale holds the numbers or tells them apart", () => {
  for (const values of [[5e-324, 0], [5e-324], [1.7e308, 1], [1.7e308, -1.7e308], [1e16, 1e16 + 2]]) {
    assert.equal(chart("p:n q:n", ...values.map((value, at) => [at, value])), undefined, `y ${values}`);
  }
  assert.equal(chart("p:n q:n", [1.7e308, 1], [-1.7e308, 2]), undefined);
  assert.ok(chart("p:n q:n", [1, 1e-300], [2, 2e-300]));
});

test("chart: points stand in the order of x, each at its place across the drawing", () => {
  for (const [made, places] of [
    [chart("a:s b:n", ["x", 1], ["y", 2]), [0.25, 0.75]],
    [chart("p:n q:n", [90, 1], [-10, 5], [15, 6]), [0, 0.25, 1]],
    [chart("at:d n:n", ["2026-01-01T11:00:00Z", 2], ["2026-01-01T10:00:00Z", 1]), [0, 1]],
  ] as const)
    assert.deepEqual(
      made?.points.map(({ place }) => made.across.at(place)),
      places,
    );
});
