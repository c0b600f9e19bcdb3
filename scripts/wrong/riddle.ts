// `npm run riddle -- N`: starts a server that breaks one sentence of the specification, to be found with the kit, a
// client or your own receiver. The number does not reveal the fault, but always selects the same one.
import { hash } from "node:crypto";
import { flagOption, parseOptions, textOption } from "../arguments.ts";
import { FAULTS, startFaultyServer } from "./server.ts";

const lot = ({ id }: { readonly id: string }) => hash("sha256", `riddle ${id}`);
const drawn = [...FAULTS].sort((a, b) => (lot(a) < lot(b) ? -1 : 1));
const [{ number = "", answer }, wrong] = parseOptions(
  `riddle -- N [--answer], with N from 1 to ${drawn.length}`,
  { number: textOption(), answer: flagOption("prints what is wrong, and ends") },
);
const fault = drawn[Number(number) - 1] ?? wrong("There is no such riddle.");

if (answer) {
  console.log(`${fault.clause}: ${fault.says}`);
  process.exit();
}
const { target } = await startFaultyServer(fault);
const { "base-url": baseUrl, "api-key": apiKey } = target;
console.log(`Riddle ${number}: one sentence of the specification does not hold here. Which?
  base URL        ${baseUrl}
  API key         ${apiKey}
  dashboard       ${target["auth-url"]}/dashboard
  OAuth client    ${target["client-id"]}, secret ${target["client-secret"]}, ${target["redirect-uri"]}
  limited key     ${target["limited-key"]}
  suspended key   ${target["suspended-key"]}
  expired token   ${target["expired-token"]}
Try     curl ${baseUrl}/apps -H 'Authorization: Bearer ${apiKey}'
or      npm run conformance -- --base-url ${baseUrl} --api-key ${apiKey}
Solved  npm run riddle -- ${number} --answer`);
