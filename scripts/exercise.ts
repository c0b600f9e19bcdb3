// `npm run exercise`: checks whether scripts/exercise/receiver.mjs, or another receiver, does what part 6 of the
// specification requires. Each check starts the receiver and this server anew, injects a fault into the deliveries and
// reports the observation, never the fix. Exit code 0 if nothing is wrong, 1 otherwise.
import { existsSync } from "node:fs";
import { setTimeout as passed } from "node:timers/promises";
import { styleText } from "node:util";
import { embedded } from "../test/support/embedded.ts";
import { started } from "../test/support/process.ts";
import { parseOptions, textOption } from "./arguments.ts";

const FILE = "scripts/exercise/receiver.mjs";
const [{ receiver: file = FILE }, misused] = parseOptions("exercise [-- --receiver FILE]", {
  receiver: textOption(),
});
if (!existsSync(file)) misused(`--receiver: there is no ${file}.`);

const SECRET = "between-us";
/** The specification's 30-second timeout, and work that takes longer, both at a thirtieth. */
const [WAITS, WORK_MS] = ["1s", "1500"];
const PATIENCE_MS = 8_000;
const FORGED = {
  id: "evt_forged",
  type: "app.created",
  created: "2026-01-01T00:00:00.000Z",
  data: { object: { id: "app_forged", title: "Forged" } },
};

type Effect = "reformat" | "bad_signature" | "duplicate" | "reorder";

/** Creates an app under this effect, and changes it twice for "reorder"; returns what became of its events. */
async function observe(url: string, effect?: Effect) {
  await using server = await embedded({
    clock: "system",
    webhookTimeout: WAITS,
    retrySchedule: "1h",
  });
  const { service, api } = server;
  const webhook = { url, events: ["app.created", "app.updated"], secret: SECRET };
  await api.create("/webhooks", webhook);
  if (effect && effect !== "reorder") service.chaos.add({ effect });
  const { id } = await api.create("/apps", { title: "First" });
  await service.settled({ timeoutMs: PATIENCE_MS });
  if (effect === "reorder") service.chaos.add({ effect });
  for (const title of effect === "reorder" ? ["Second", "Third"] : []) {
    await api.patch(`/apps/${id}`, { title });
    await passed(2); // so that their times differ
  }
  const forged = await fetch(url, { method: "POST", body: JSON.stringify(FORGED) });
  // The receiver has processed everything once it has processed one more event.
  await api.create("/apps", { title: "Last" });
  await service.settled({ timeoutMs: PATIENCE_MS });
  const [first, last] = [service.events[0]?.id, service.events.at(-1)?.id ?? ""];
  const attempt = service.deliveries[0]?.attempts[0];
  for (const end = performance.now() + PATIENCE_MS; ; await passed(50)) {
    const text = await (await fetch(url)).text();
    const { handled, apps }: { handled: string[]; apps: Record<string, string> } = JSON.parse(text);
    if (!handled.includes(last) && performance.now() < end) continue;
    return {
      answer: String(attempt?.response_status ?? attempt?.error),
      times: handled.filter((each) => each === first).length,
      title: apps[id],
      forgedStatus: handled.includes(FORGED.id) && forged.status,
    };
  }
}

/** The effect of each check, and a function that returns the fault, or false if there is none. */
type Check = readonly [
  effect: Effect | undefined,
  findFault: (seen: Awaited<ReturnType<typeof observe>>) => string | false,
];

const CHECKS: { readonly [about: string]: Check } = {
  "what is signed": [
    "reformat",
    ({ answer, times }) =>
      times === 0 && `a signed event with other white space was answered ${answer}`,
  ],
  "who sends": [
    "bad_signature",
    ({ answer, times, forgedStatus }) =>
      times > 0 || !answer.startsWith("4")
        ? `an event with a wrong signature was answered ${answer}`
        : forgedStatus !== false && `an event without a signature was answered ${forgedStatus}`,
  ],
  "the same again": [
    "duplicate",
    ({ times }) => times !== 1 && `an event that came twice was worked on ${times} times`,
  ],
  "how long a sender waits": [
    undefined,
    ({ answer, times }) =>
      !(times === 1 && answer.startsWith("2")) &&
      `the sender saw ${answer}, the event was worked on ${times} times`,
  ],
  "which comes first": [
    "reorder",
    ({ title }) => title !== "Third" && `the app is called Third, and in the receiver ${title}`,
  ],
};

async function check([about, [effect, findFault]]: [string, Check]): Promise<boolean> {
  const env = { PORT: "0", WEBHOOK_SECRET: SECRET, WORK_MS };
  const { child, said, prints, kill } = started([file], env);
  child.stderr.pipe(process.stderr);
  // A receiver that exits early has already printed its error.
  await prints("\n").catch(() => undefined);
  const [url] = /http:\S+/.exec(said.stdout) ?? misused(`${file} does not say where it listens.`);
  const wrong = await observe(url, effect).then(findFault, ({ message }: Error) => message);
  await kill();
  const verdict = wrong ? styleText("red", "wrong") : styleText("green", "right");
  console.log(`${verdict}  ${about}${wrong ? `: ${wrong}` : ""}`);
  return wrong !== false;
}

const all = await Promise.all(Object.entries(CHECKS).map(check));
const left = all.filter(Boolean).length;
const result = left === 0 ? "Nothing is wrong with" : `${left} of ${all.length} to mend in`;
console.log(`\n${result} ${file}.`);
process.exitCode = left === 0 ? 0 : 1;
