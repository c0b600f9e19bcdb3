// The chart of a table (web/sites/chart): its columns, kind, points and axis labels.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Column } from "../../src/domain/model.ts";
import {
  createChart,
  describePoint,
  formatCell,
  renderChart,
  toTitle,
} from "../../src/web/sites/chart.ts";

const TYPES = new Map<string, Column["type"]>([
  ["s", "string"],
  ["n", "number"],
  ["b", "boolean"],
  ["d", "datetime"],
]);
type Cells = readonly (string | number | boolean | null)[];

/** Draws a table whose columns are written as `name:n`, with the first letter of each type. */
const draw = (header: string, rows: readonly Cells[]) => {
  const columns = header.split(" ").map((text) => {
    const [name = "", letter = ""] = text.split(":");
    return { name, type: TYPES.get(letter) ?? "string" };
  });
  const records = rows.map((cells) =>
    Object.fromEntries(columns.map(({ name }, index) => [name, cells[index] ?? null])),
  );
  return createChart(columns, records);
};
/** Draws bars of these heights. */
const drawBars = (values: readonly number[]) =>
  draw(
    "a:s b:n",
    values.map((value, index) => [`n${index}`, value]),
  );
const summary = (chart: ReturnType<typeof draw>) =>
  chart &&
  `${chart.isLine ? "line" : "bars"} ${chart.x.name} ${chart.y.name} ${chart.category?.name ?? "-"} ${chart.points.length}`;
/** Returns the labels below the chart, or beside it; `^wide` are those that a narrow chart has, too. */
const labelsIn = (chart: ReturnType<typeof draw>, pattern: string) => {
  const { text = "" } = chart ? renderChart(chart) : {};
  return Array.from(text.matchAll(new RegExp(pattern, "g")), ([, label]) => label).join(", ");
};
const BESIDE = 'text-anchor="end">([^<]*)<';
const BELOW = '<text class="(?:wide)?"[^>]*>([^<]*)<';
const BELOW_NARROW = '<text class=""[^>]*>([^<]*)<';

for (const [title, expected, header, ...rows] of [
  ["names get bars", "bars a b - 2", "a:s b:n", "x 1", "y 2"],
  ["times get a line", "line at n - 2", "n:n at:d", "1 2026-01-01", "2 2026-01-02"],
  ["times precede names", "line at n - 2", "a:s n:n at:d", "x 1 2026-01-01", "x 2 2026-01-02"],
  ["repeated names get no chart", undefined, "a:s b:n", "x 1", "x 2"],
  ["numbers alone get no chart", undefined, "p:n q:n", "1 5", "2 6"],
  ["a few names are a category", "bars m v k 2", "m:s v:n k:s", "a 1 p", "b 2 q"],
  ["one name is no category", "bars m v - 2", "m:s v:n k:s", "a 1 p", "b 2 p"],
  ["booleans are a category", "bars m v ok 2", "m:s v:n ok:b", "a 1 true", "a 2 false", "b - true"],
  ["an id is not drawn", "bars a n - 2", "a:s user_id:n n:n", "x 7 9", "y 5 1"],
  ["a lone id is drawn", "bars a id - 2", "a:s id:n", "x 5", "y 6"],
  ["a name that only ends in id is drawn", "bars a paid - 2", "a:s paid:n n:n", "x 7 9", "y 5 1"],
  ["no rows get no chart", undefined, "a:s b:n"],
  ["a row needs both values", undefined, "a:s b:n", "x -", "- 2"],
] as const)
  test(`chart: ${title}`, () => {
    const cells = rows.map((row) =>
      row
        .split(" ")
        .map((cell) =>
          /^(-|\d+|true|false)$/.test(cell) ? JSON.parse(cell.replace("-", "null")) : cell,
        ),
    );
    assert.equal(summary(draw(header, cells)), expected);
  });

test("chart: at most 8 names form a category, and at most 200 bars are drawn", () => {
  const groups = (count: number) => {
    const rows = Array.from({ length: 18 }, (_, n) => [`m${n}`, n, `k${n % count}`]);
    return draw("m:s v:n k:s", rows)?.category?.name;
  };
  assert.deepEqual([groups(8), groups(9)], ["k", undefined]);
  const bars = (count: number) => drawBars(Array(count).fill(1))?.isLine;
  assert.deepEqual([bars(200), bars(201)], [false, undefined]);
});

test("chart: a point keeps its row and values, and its text is cut to the length that an event allows", () => {
  const rows = [
    [null, 1],
    ["x".repeat(1_001), -2.5],
    [`${"y".repeat(999)}\u{1f600}`, 0],
  ];
  const [first, second] = draw("a:s b:n", rows)?.points ?? [];
  assert.deepEqual(first, { row: 1, position: 0, x: "x".repeat(1_000), y: -2.5, category: null });
  assert.ok(second?.x.isWellFormed());
});

test("chart: the axis of numbers starts at zero, ends at the largest value and has round labels", () => {
  for (const [labels, values] of Object.entries({
    "0, 20, 40, 60, 80": [3, 97],
    "-6, -4, -2, 0, 2": [-7, 2],
    "0": [0, 0],
    "0, 200, 400, 600, 800, 1K": [1_020, 990],
    "0, 3e-323": [3e-323],
    "0, 2e-25, 4e-25, 6e-25": [7e-25],
    "0, 2e+289, 4e+289, 6e+289, 8e+289, 1e+290": [1e290],
  }))
    assert.equal(labelsIn(drawBars(values), BESIDE), labels);
  const up = drawBars([3, 97])?.up;
  assert.deepEqual([up?.toFraction(0), up?.toFraction(97)], [0, 1]);
});

const drawTimes = (times: readonly string[]) =>
  draw(
    "t:d n:n",
    times.map((time, index) => [time, index]),
  );

test("chart: the labels of times are days, or times within less than a day", () => {
  for (const [labels, ...times] of [
    ["13 Oct 2026", "2026-10-13"],
    ["13 Oct 2026", "2026-10-13T14:05:00Z"],
    ["13 Oct 2026, 16 Oct 2026", "2026-10-16", "2026-10-13", "2026-10-13T06:00Z"],
    ["13 Oct 2026, 14 Oct 2026", "2026-10-13", "2026-10-14"],
    ["09:48, 10:10", "2026-10-13T09:48Z", "2026-10-13T10:10+00:00"],
    ["23:48:58, 00:49:01", "2026-10-13T23:48:58Z", "2026-10-14T00:49:01Z"],
    ["1 Jan 1, 1 Jan 2026", "0001-01-01", "2026-01-01"],
  ] as const)
    assert.equal(labelsIn(drawTimes(times), BELOW), labels);
});

test("chart: the label of a day is below its first point", () => {
  const chart = drawTimes(["2026-10-13T12:00Z", "2026-10-13", "2026-10-14T12:00Z", "2026-10-17"]);
  assert.equal(labelsIn(chart, '" x="([^"]*)" y="262"'), "0.00%, 37.50%, 100.00%");
});

test("chart: labels that would overlap are left out, and a narrow chart has some of a wide chart's", () => {
  const days = Array.from({ length: 10 }, (_, index) => `2026-10-1${index}`);
  const chart = drawTimes([...days, "2026-11-14", "2026-12-31"]);
  assert.equal(labelsIn(chart, BELOW), "10 Oct 2026, 19 Oct 2026, 14 Nov 2026, 31 Dec 2026");
  assert.equal(labelsIn(chart, BELOW_NARROW), "10 Oct 2026, 14 Nov 2026, 31 Dec 2026");
});

test("chart: the label of a point is written for people", () => {
  for (const [x, y, label] of [
    ["2026-10-13", 1_020, "13 Oct 2026, 1,020 visitors"],
    ["2026-10-13T14:05:00Z", 1, "13 Oct 2026, 14:05, 1 visitors"],
    ["2026-10-13T14:05:09Z", 1, "13 Oct 2026, 14:05:09, 1 visitors"],
    ["North", 48_250.5, "North, 48,250.5 visitors"],
  ] as const) {
    const chart = draw("a:s visitors:n", [[x, y]]);
    assert.equal(chart?.points[0] && describePoint(chart.y, chart.points[0]), label);
  }
});

test("chart: titles and values are written for people, and the case of a unit is kept", () => {
  assert.deepEqual(["water_level", "created_at", "kWh used", "pH", "x".repeat(41)].map(toTitle), [
    "Water level",
    "Created",
    "kWh used",
    "pH",
    `X${"x".repeat(38)}…`,
  ]);
  assert.deepEqual([null, true, 1_234.5, "2026-10-13T14:05:00+02:00", "2026-10"].map(formatCell), [
    "–",
    "true",
    "1,234.5",
    "13 Oct 2026, 12:05",
    "2026-10",
  ]);
});

test("chart: numbers whose distance is no number are only shown in the table", () => {
  assert.equal(drawBars([1.7e308, -1.7e308]), undefined);
  assert.ok(drawBars([5e-324, 0]));
  assert.ok(drawBars([1.7e308, 1]));
});

test("chart: points are sorted by x and placed in proportion", () => {
  const getPlaces = (chart: ReturnType<typeof draw>) =>
    chart?.points.map(({ position }) => chart.across.toFraction(position));
  assert.deepEqual(getPlaces(drawBars([1, 2])), [0.25, 0.75]);
  assert.deepEqual(getPlaces(drawTimes(["2026-01-05", "2026-01-01", "2026-01-02"])), [0, 0.25, 1]);
  assert.deepEqual(getPlaces(drawTimes(["2026-01-05"])), [0.5]);
});
