// The report as lines for people, and as JSON.
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
  json: (report) => JSON.stringify(report, null, 2),
};

const COLOURS = { shown: "green", failed: "red", "not tried": "dim" } as const;
const LINES_MAX = 6;

function formatText({ baseUrl, profile, results, sums }: Report) {
  const readings = Object.values(profile).map((says) => `  ${legible(says)}`);
  const reported =
    readings.length === 0
      ? []
      : [`Where the specification leaves it open, ${baseUrl}`, ...readings, ""];
  const counted = Object.entries(sums).map(([verdict, sum]) => `${sum} ${verdict}`);
  return [...reported, ...results.flatMap(lines), "", counted.join(", ")].join("\n");
}

/** Every line repeats the id, so that each line can be understood alone. */
function lines({ id, requirement, verdict, why }: Result) {
  const line = `${styleText(COLOURS[verdict], verdict.padEnd(9))} ${id.padEnd(34)} ${requirement}`;
  if (verdict === "not tried") return [`${line} (${why})`];
  const reasons = why.split("\n").filter((reason) => reason.trim() !== "");
  return [
    line,
    ...reasons.slice(0, LINES_MAX).map((reason) => `          ${id}: ${legible(reason)}`),
  ];
}
