// `npm run bench:delivery [-- storm hostile …]`: the figures of webhook delivery, each with its goal; ends with status 1
// where one was missed. All of them take about a minute.
import { cancel } from "./delivery/cancel.ts";
import { hostile } from "./delivery/hostile.ts";
import { pending } from "./delivery/pending.ts";
import { besideSilence, throughput } from "./delivery/speed.ts";
import { replay, storm } from "./delivery/storm.ts";

const BENCHES = { storm, replay, hostile, throughput, silence: besideSilence, pending, cancel };

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`${unknown.join(", ")}: choose from ${Object.keys(BENCHES).join(", ")}`);
  process.exit(2);
}

for (const [name, run] of Object.entries(BENCHES)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  for (const { name: what, value, goal, reached } of await run()) {
    console.log(`${reached ? "ok    " : "MISSED"} ${name}: ${what}: ${value}${goal && ` (goal ${goal})`}`);
    if (!reached) process.exitCode = 1;
  }
}
