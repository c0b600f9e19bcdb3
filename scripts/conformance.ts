// Holds any implementation of the specification to the clauses of test/spec, and says how it reads what is left open:
//   npm run conformance -- --base-url https://host/v1 --api-key KEY
// Exit code 0 where nothing failed, 1 where something did, 2 for wrong use and where nothing could be tried.
import { given, wrongUse } from "./arguments.ts";
import { judge } from "./conformance/judge.ts";
import { ownTarget } from "./conformance/own.ts";

const USE = "Usage: npm run conformance -- --base-url URL --api-key KEY";
const [string, flag] = [{ type: "string" }, { type: "boolean" }] as const;
const options = { "base-url": string, "api-key": string, only: string, own: flag } as const;
const { "base-url": baseUrl = "", "api-key": apiKey = "", own, only } = given(options, USE);
const mine = own ? await ownTarget() : undefined;
const report = await judge(mine?.target ?? { baseUrl, apiKey }, { only }).catch((error: Error) =>
  wrongUse(error.message, ""),
);
for (const sentence of Object.values(report.profile)) console.log(`  ${sentence}`);
for (const { id, verdict, requirement, why } of report.results) console.log(verdict, id, requirement, why);
console.log(report.sums);
await mine?.close();
