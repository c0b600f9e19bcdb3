// The tests of what this project chose, for this server alone: with an id, `npm run clause 4.etag` finds them as it finds a
// clause. They are node:test's, which runs each file in a process of its own.
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { run } from "node:test";
import type { Result } from "./judge.ts";

const FOLDER = "test/choices";
const NAME = /^(?<id>\d[\w.-]*) \(our choice\): (?<requirement>.*)$/s;

/** What became of each test whose id begins so. */
export async function chosen(only: string): Promise<readonly Result[]> {
  const files = readdirSync(FOLDER)
    .map((name) => `${FOLDER}/${name}`)
    .filter((path) => readFileSync(path, "utf8").includes(`"${only}`));
  const results: Result[] = [];
  if (files.length === 0) return results;
  const told = (name: string, error?: Error) => {
    const { id, requirement } = NAME.exec(name)?.groups ?? {};
    const { message } = error?.cause instanceof Error ? error.cause : (error ?? { message: "" });
    if (!id?.startsWith(only) || requirement === undefined) return;
    results.push({ id, requirement, verdict: error ? "failed" : "chosen", why: message });
  };
  const testNamePatterns = [new RegExp(`^${only.replaceAll(".", "\\.")}[\\w.-]* \\(our choice\\): `)];
  const events = run({ files, concurrency: 1, testNamePatterns });
  events.on("test:pass", ({ name, skip }) => skip === undefined && told(name));
  events.on("test:fail", ({ name, details }) => told(name, details.error));
  await once(events.resume(), "end");
  return results;
}
