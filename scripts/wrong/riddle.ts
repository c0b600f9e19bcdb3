// `npm run riddle -- N`: a server that breaks one sentence of the specification, to be found out with the kit, a client or
// a receiver of one's own. The number does not tell which; it is the same in every run.
import { hash } from "node:crypto";
import { wrongUse } from "../arguments.ts";
import { judge } from "../conformance/judge.ts";
import { reportOf, text } from "../conformance/report.ts";
import { FAULTS, started } from "./server.ts";

const USE = `Usage: npm run riddle -- N [--kit] [--answer]
  N          which riddle, from 1 to ${FAULTS.length}
  --kit      has the conformance kit look at it, and ends
  --answer   tells what is wrong, and ends`;

const lot = ({ id }: { readonly id: string }) => hash("sha256", `riddle ${id}`);
const drawn = [...FAULTS].sort((a, b) => (lot(a) < lot(b) ? -1 : 1));
const [number = "", how = ""] = process.argv.slice(2);
const fault = drawn[Number(number) - 1];
if (fault === undefined || !["", "--kit", "--answer"].includes(how)) wrongUse("There is no such riddle.", USE);

if (how === "--answer") {
  console.log(`${fault.clause}: ${fault.says}`);
  process.exit();
}
const { target, signInLink } = await started(fault);
const { "base-url": baseUrl, "api-key": apiKey } = target;
if (how === "--kit") {
  console.log(text(reportOf(baseUrl, await judge(target, ""))));
  process.exit();
} else
  console.log(`Riddle ${number}: one sentence of the specification does not hold here. Which?
  base URL        ${baseUrl}
  API key         ${apiKey}
  signs in        ${await signInLink()}
  OAuth client    ${target["client-id"]}, secret ${target["client-secret"]}, ${target["redirect-uri"]}
  limited key     ${target["limited-key"]}
  suspended key   ${target["suspended-key"]}
  expired token   ${target["expired-token"]}
Try     curl ${baseUrl}/apps -H 'Authorization: Bearer ${apiKey}'
or      npm run conformance -- --base-url ${baseUrl} --api-key ${apiKey}
or      npm run riddle -- ${number} --kit
Solved  npm run riddle -- ${number} --answer`);
