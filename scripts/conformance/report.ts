// The report of `npm run conformance`, a line for each clause - shown, chosen, skipped with its reason, or
// failed with what was wrong - and the sums.
import { styleText } from "node:util";

interface Outcome {
  readonly name: string;
  readonly skip?: string | boolean | undefined;
  readonly details: { readonly error?: Error };
}

export interface TestEvent {
  readonly type: string;
  readonly data: unknown;
}

const NAME = /^(?<id>\d[\w.-]*)(?<ours> \(our choice\))?: (?<requirement>.*)$/s;
const ID_WIDTH = 34;

/** Says what became of each clause; answers how many failed. */
export async function report(events: AsyncIterable<TestEvent>, say: (line: string) => void): Promise<number> {
  const sums = new Map<string, number>();
  for await (const { type, data } of events) {
    const outcome = outcomeOf(type, data);
    if (outcome === undefined) continue;
    const { verdict, line } = lineOf(type, outcome);
    sums.set(verdict, (sums.get(verdict) ?? 0) + 1);
    say(line);
  }
  const said = ["shown", "chosen", "skipped", "failed"].map((verdict) => `${sums.get(verdict) ?? 0} ${verdict}`);
  say(`\n${said.join(", ")}`);
  return sums.get("failed") ?? 0;
}

/** A test that was asked for, or a file that could not even be read. */
function outcomeOf(type: string, data: unknown): Outcome | undefined {
  if (type !== "test:pass" && type !== "test:fail") return undefined;
  if (!isOutcome(data) || (typeof data.skip === "string" && data.skip.includes("pattern"))) return undefined;
  return type === "test:fail" || NAME.test(data.name) ? data : undefined;
}

const isOutcome = (data: unknown): data is Outcome => typeof data === "object" && data !== null && "name" in data;

function lineOf(type: string, { name, skip, details }: Outcome): { readonly verdict: string; readonly line: string } {
  const { id = name, ours, requirement = "" } = NAME.exec(name)?.groups ?? {};
  const at = id.padEnd(ID_WIDTH);
  if (type === "test:fail")
    return {
      verdict: "failed",
      line: `${styleText("red", "failed ")} ${at} ${requirement}\n${causeOf(details.error, id)}`,
    };
  if (skip !== undefined && skip !== false)
    return { verdict: "skipped", line: `${styleText("dim", "skipped")} ${at} ${requirement} (${String(skip)})` };
  const verdict = ours === undefined ? "shown" : "chosen";
  return { verdict, line: `${styleText("green", verdict.padEnd(7))} ${at} ${requirement}` };
}

/** Every line carries the id, so that one of them alone can be understood. */
function causeOf(error: Error | undefined, id: string): string {
  const cause = error?.cause instanceof Error ? error.cause : error;
  const lines = (cause?.message ?? "no cause was given").split("\n").filter((line) => line.trim() !== "");
  return lines
    .slice(0, 6)
    .map((line) => `        ${id}: ${line}`)
    .join("\n");
}
