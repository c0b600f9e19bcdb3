// The report as lines for people, as JSON, and as JUnit XML, which every CI system shows.
import { styleText } from "node:util";
import { escapeControl as legible } from "../../src/log.ts";
import type { Judgement, Result, Verdict } from "./judge.ts";

export type Report = ReturnType<typeof reportOf>;

export function reportOf(baseUrl: string, { profile, results }: Judgement) {
  const sums: Record<Verdict, number> = { shown: 0, failed: 0, "not tried": 0 };
  for (const { verdict } of results) sums[verdict] += 1;
  return { baseUrl, profile, results, sums };
}

export const FORMS: Readonly<Record<string, (report: Report) => string>> = {
  text: formatText,
  junit: formatJunit,
  json: (report) => JSON.stringify(report, null, 2),
};

const COLOURS = { shown: "green", failed: "red", "not tried": "dim" } as const;
const LINES_MAX = 6;

export function formatText({ baseUrl, profile, results, sums }: Report): string {
  const readings = Object.values(profile).map((says) => `  ${legible(says)}`);
  const reported =
    readings.length === 0
      ? []
      : [`Where the specification leaves it open, ${baseUrl}`, ...readings, ""];
  const counted = Object.entries(sums).map(([verdict, sum]) => `${sum} ${verdict}`);
  return [...reported, ...results.flatMap(lines), "", counted.join(", ")].join("\n");
}

/** Every line repeats the id, so that each line can be understood alone. */
function lines({ id, requirement, verdict, why }: Result): string[] {
  const line = `${styleText(COLOURS[verdict], verdict.padEnd(9))} ${id.padEnd(34)} ${requirement}`;
  if (verdict === "not tried") return [`${line} (${why})`];
  const reasons = why.split("\n").filter((reason) => reason.trim() !== "");
  return [
    line,
    ...reasons.slice(0, LINES_MAX).map((reason) => `          ${id}: ${legible(reason)}`),
  ];
}

function formatJunit({ baseUrl, profile, results, sums }: Report): string {
  const properties = Object.entries(profile).map(([name, value]) =>
    element("property", { name, value }),
  );
  const counts = { tests: results.length, failures: sums.failed, skipped: sums["not tried"] };
  const cases = results.map(({ id, requirement, verdict, why }) => {
    const outcome = verdict === "failed" ? "failure" : "skipped";
    const inner = why === "" ? [] : [element(outcome, { message: why })];
    return element(
      "testcase",
      { classname: `part ${id.slice(0, 1)}`, name: `${id}: ${requirement}` },
      inner,
    );
  });
  const suite = element("testsuite", { name: baseUrl, ...counts }, [
    element("properties", {}, properties),
    ...cases,
  ]);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element("testsuites", counts, [suite])}`;
}

function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  inner: readonly string[] = [],
) {
  const given = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${escaped(String(value))}"`,
  );
  const start = `<${name}${given.join("")}`;
  return inner.length === 0 ? `${start}/>` : `${start}>\n${inner.join("\n")}\n</${name}>`;
}

/** Escapes XML and drops characters that XML cannot represent. */
const escaped = (value: string): string =>
  value
    .replace(/[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replace(/[&<>"\t\n\r]/g, (sign) => `&#${sign.charCodeAt(0)};`);
