// The chart of a table (web/sites/chart): its columns, kind, points and axis labels.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Column } from "../../src/domain/model.ts";
import { createChart, describePoint } from "../../src/web/sites/chart.ts";

const TYPES = { s: "string", n: "number", b: "boolean", d: "datetime" } as const;
type Cells = readonly (string | number | boolean | null)[];
/** The columns as `name:n`, with the first letter of each type. */
const chosen = (wanted: string | undefined, columns: string, ...rows: readonly Cells[]) => {
  const all = columns.split(" ").map((column): Column => {
    const [name = "", letter] = column.split(":");
    return { name, type: Object.entries(TYPES).find(([each]) => each === letter)?.[1] ?? "string" };
  });
  const named = rows.map((cells) =>
    Object.fromEntries(all.map(({ name }, at) => [name, cells[at] ?? null])),
  );
  const column = all.find(({ name }) => name === wanted);
  return createChart(all, named, column);
};
const chart = (columns: string, ...rows: readonly Cells[]) => chosen(undefined, columns, ...rows);
const shape = (made: ReturnType<typeof chart>) =>
  made && [made.kind, made.x.name, made.y.name, made.category?.name, made.points.length].join(" ");
const many = (count: number, row: (at: number) => Cells) =>
  Array.from({ length: count }, (_, at) => row(at));

test("chart: the types and values of the columns determine which are drawn, and how", () => {
  for (const [drawn, columns, ...rows] of [
    ["bars a b  2", "a:s b:n", "x 1", "y 2"],
    ["line at n  2", "n:n at:d", "1 2026-01-01", "2 2026-01-02"],
    ["points p q  2", "p:n q:n", "1 5", "2 6"],
    // Repeated names are drawn as points, or are replaced by a second number.
    ["points a b  2", "a:s b:n", "x 1", "x 2"],
    ["points b c a 3", "a:s b:n c:n", "x 1 3", "x 2 4", "y 2 5"],
    // A few other names or booleans are a category.
    ["bars m v k 2", "m:s v:n k:s", "a 1 p", "b 2 q"],
    ["bars m v  2", "m:s v:n k:s", "a 1 p", "b 2 p"],
    ["bars m v ok 2", "m:s v:n ok:b", "a 1 true", "a 2 false", "b - true"],
    // Ids and counters are drawn if there is no other number.
    ["points id n  2", "id:n n:n", "4 5", "9 6"],
    ["bars a id  2", "a:s id:n", "x 5", "y 6"],
    // There is no chart without a number, a column beside it, or a row with both.
    [undefined, "a:s b:s", "x y"],
    [undefined, "a:n", "1"],
    [undefined, "a:s b:n"],
    [undefined, "a:s b:n", "x -", "- 2"],
  ] as const) {
    const cells = rows.map((row) =>
      row
        .split(" ")
        .map((cell) =>
          /^(-|\d+|true|false)$/.test(cell) ? JSON.parse(cell.replace("-", "null")) : cell,
        ),
    );
    assert.equal(shape(chart(columns, ...cells)), drawn, `${columns} ${rows}`);
  }
});

test("chart: nine names do not form a category, and more than 200 are drawn as points, not bars", () => {
  const rows = (kinds: number) => many(18, (at) => [`m${at}`, at % kinds, `k${at % kinds}`]);
  assert.equal(shape(chart("m:s v:n k:s", ...rows(8))), "bars m v k 18");
  assert.equal(shape(chart("m:s v:n k:s", ...rows(9))), "bars m v  18");
  const kind = (count: number) =>
    chart("a:s b:n", ...many(count, (at) => [`n${at}`, at % 9]))?.kind;
  assert.deepEqual([kind(200), kind(201)], ["bars", "points"]);
});

test("chart: a point keeps its row and its values, and its text is cut to the length that an event allows", () => {
  const made = chart(
    "a:s b:n",
    [null, 1],
    ["x".repeat(1_001), -2.5],
    [`${"y".repeat(999)}\u{1f600}`, 0],
  );
  const [first, second] = made?.points ?? [];
  assert.deepEqual(
    [first?.row, first?.x.toString().length, first?.y, first?.category],
    [1, 1_000, -2.5, null],
  );
  assert.ok(second?.x.toString().isWellFormed());
});

test("chart: ids and counters are not drawn if there is another number, but the reader may select them", () => {
  const rows = [7, 5, 6].map((n, at) => [`d${at}`, at + 3, 10 * n, n, n + 0.5] as const);
  const columns = "day:s nr:n user_id:n visitors:n price:n";
  for (const wanted of [undefined, "price", "nr"])
    assert.equal(shape(chosen(wanted, columns, ...rows)), `bars day ${wanted ?? "visitors"}  3`);
  assert.deepEqual(chart(columns, ...rows)?.ys.length, 4);
});

const texts = (axis: { readonly labels: readonly (readonly [number, string])[] } | undefined) =>
  axis?.labels.map(([, text]) => text);

test("chart: an axis ends at its largest value with round values along it, and bars and lines start at zero", () => {
  const up = (...values: readonly number[]) =>
    chart("a:s b:n", ...values.map((value, at) => [`n${at}`, value]))?.up;
  for (const [values, written] of [
    [[3, 97], "0 20 40 60 80"],
    [[-7, 2], "-6 -4 -2 0 2"],
    [[0, 0], "0"],
    [[0.001, 0.003], "0 0.0005 0.001 0.0015 0.002 0.0025 0.003"],
    [[1_020, 990], "0 200 400 600 800 1000"],
    [[9_999, 10_200], "0 2000 4000 6000 8000 10K"],
    [[2e15], "0 500T 1e+15 1.5e+15 2e+15"],
    [[1e290], "0 2e+289 4e+289 6e+289 8e+289 1e+290"],
  ] as const)
    assert.equal(texts(up(...values))?.join(" "), written);
  assert.deepEqual([up(3, 97)?.at(0), up(3, 97)?.at(97)], [0, 1]);
  const years = chart("year:n b:n", [2019, 1], [2024, 7])?.across;
  assert.deepEqual(texts(years)?.slice(0, 3), ["2019", "2019.5", "2020"]);
  const points = chart("a:n b:n", [5, 1_000_000], [5, 1_020_000]);
  assert.deepEqual(texts(points?.up)?.slice(0, 2), ["1M", "1.005M"]);
  assert.deepEqual([points?.across.at(5), texts(points?.across)], [0.5, ["5"]]);
});

const DAY = "06:00, 12:00, 18:00";
test("chart: the format of times depends on the step between them", () => {
  for (const [times, written] of [
    [["2026-10-13"], "13 Oct 2026"],
    [["2026-10-13", "2026-10-16"], `13 Oct, ${DAY}, 14 Oct, ${DAY}, 15 Oct, ${DAY}, 16 Oct`],
    [
      ["2026-10-15", "2026-10-18T13:00Z"],
      "15 Oct, 12:00, 16 Oct, 12:00, 17 Oct, 12:00, 18 Oct, 12:00",
    ],
    [["2026-10-13T09:48Z", "2026-10-13T10:10+00:00"], "09:50, 09:55, 10:00, 10:05, 10:10"],
    [["2026-10-13T09:48:58Z", "2026-10-13T09:49:01Z"], "09:48:58, 09:48:59, 09:49:00, 09:49:01"],
    [["2026-10-13T09:48:00.995Z", "2026-10-13T09:48:01.01Z"], "09:48:01.000, 09:48:01.010"],
    [["2026-01-15", "2026-05-31"], "Feb 2026, Mar 2026, Apr 2026, May 2026"],
    [
      ["2000-06-15", "2002-02-01"],
      "Jul 2000, Oct 2000, Jan 2001, Apr 2001, Jul 2001, Oct 2001, Jan 2002",
    ],
    [["0001-01-01", "2026-01-01"], "500, 1000, 1500, 2000"],
  ] as const)
    assert.equal(
      texts(chart("t:d n:n", ...times.map((at, n) => [at, n]))?.across)?.join(", "),
      written,
    );
});

test("chart: the label of a point is written for people", () => {
  for (const [x, y, said] of [
    ["2026-10-13", 1_020, "13 Oct 2026, 1,020 visitors"],
    ["2026-10-13T14:05:00Z", 1, "13 Oct 2026, 14:05, 1 visitors"],
    ["2026-10-13T14:05:09Z", 1, "13 Oct 2026, 14:05:09, 1 visitors"],
    ["2026-10-13T14:05:09.5Z", 1, "13 Oct 2026, 14:05:09.500, 1 visitors"],
    ["2026-03", 48_250.5, "March 2026, 48,250.5 visitors"],
    ["2026-13", 1e-9, "2026-13, 1e-9 visitors"],
    [1_234.5, 1e290, "1,234.5, 1e+290 visitors"],
  ] as const) {
    const made = chart(typeof x === "number" ? "a:n visitors:n" : "a:s visitors:n", [x, y]);
    assert.equal(made?.points[0] && describePoint(made.y, made.points[0]), said);
  }
});

test("chart: there is no chart if no scale can represent or separate the numbers", () => {
  for (const values of [[5e-324, 0], [5e-324], [1.7e308, 1], [1.7e308, -1.7e308], [1e16, 1e16 + 2]])
    assert.equal(
      chart("p:n q:n", ...values.map((value, at) => [at, value])),
      undefined,
      `y ${values}`,
    );
  assert.equal(chart("p:n q:n", [1.7e308, 1], [-1.7e308, 2]), undefined);
  assert.ok(chart("p:n q:n", [1, 1e-300], [2, 2e-300]));
});

test("chart: points are sorted by x and placed across the drawing by value", () => {
  for (const [made, places] of [
    [chart("a:s b:n", ["x", 1], ["y", 2]), "0.25,0.75"],
    [chart("p:n q:n", [90, 1], [-10, 5], [15, 6]), "0,0.25,1"],
    [chart("at:d n:n", ["2026-01-01T11:00:00Z", 2], ["2026-01-01T10:00:00Z", 1]), "0,1"],
  ] as const)
    assert.equal(made?.points.map(({ place }) => made.across.at(place)).join(), places);
});
