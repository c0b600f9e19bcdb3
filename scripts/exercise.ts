// `npm run exercise`: checks whether scripts/exercise/receiver.mjs, or another receiver, does what part 6 of the
// specification requires. Each check starts the receiver and this server anew, injects a fault into the deliveries and
// reports the observation, never the fix. Exit code 0 if nothing is wrong, 1 otherwise.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { setTimeout as passed } from "node:timers/promises";
import { styleText } from "node:util";
import { serviceSignature } from "../src/lib/signature.ts";
import { embedded } from "../test/support/embedded.ts";
import { started } from "../test/support/process.ts";
import { parseOptions, textOption } from "./arguments.ts";

const FILE = "scripts/exercise/receiver.mjs";
const [{ receiver: file = FILE }, misused] = parseOptions("exercise [-- --receiver FILE]", {
  receiver: textOption(),
});
if (!existsSync(file)) misused(`--receiver: there is no ${file}.`);

const secret = "between-us";
/** The specification's 30-second timeout, and work that takes longer, both at a thirtieth. */
const [WAITS, WORK_MS] = ["1s", "1500"];
const PATIENCE_MS = 8_000;

/** Starts this server with a webhook to the receiver at `url`. */
async function createScene(url: string) {
  const server = await embedded({ clock: "system", webhookTimeout: WAITS, retrySchedule: "1h" });
  const { service, api } = server;
  await api.create("/webhooks", { url, events: ["app.created", "app.updated"], secret });

  /** Posts an event that no other sender has sent, and returns the status; `indent` formats its JSON. */
  async function send(id: string, { indent = 0, isSigned = true } = {}): Promise<number> {
    const [created, object] = [new Date().toISOString(), { id: `app_of_${id}`, title: "Café" }];
    const event = { id, type: "app.created", created, data: { object } };
    const body = JSON.stringify(event, null, indent);
    const headers = { "x-service-signature": serviceSignature(body, secret) };
    const response = await fetch(url, { method: "POST", body, headers: isSigned ? headers : {} });
    return response.status;
  }
  /** The receiver's final state: it has processed everything once it has processed one more event. */
  async function outcome() {
    const last = `evt_${randomUUID()}`;
    await service.settled({ timeoutMs: PATIENCE_MS });
    await send(last);
    for (const end = performance.now() + PATIENCE_MS; ; await passed(50)) {
      const text = await (await fetch(url)).text();
      const seen: { handled: string[]; apps: Record<string, string> } = JSON.parse(text);
      if (seen.handled.includes(last) || performance.now() > end) return seen;
    }
  }
  /** Creates an app; returns the response to its event, and how often the receiver processed that event. */
  async function createApp() {
    const { id } = await api.create("/apps", { title: "First" });
    const { handled } = await outcome();
    const attempt = service.deliveries[0]?.attempts[0];
    const times = handled.filter((each) => each === service.events[0]?.id).length;
    return { id, answer: String(attempt?.response_status ?? attempt?.error), times };
  }
  return { ...server, send, outcome, createApp };
}

/** Returns the fault, or false if there is none. */
type Check = (scene: Awaited<ReturnType<typeof createScene>>) => Promise<string | false>;

const CHECKS: { readonly [about: string]: Check } = {
  async "what is signed"({ send, outcome }) {
    const status = await send("evt_laid_out", { indent: 2 });
    const { handled } = await outcome();
    const isRight = handled.includes("evt_laid_out");
    return !isRight && `a signed event of several lines was answered ${status}`;
  },
  async "who sends"({ send, service, createApp, outcome }) {
    const status = await send("evt_forged", { isSigned: false });
    service.chaos.add({ effect: "bad_signature" });
    const { answer, times } = await createApp();
    if (times > 0 || !answer.startsWith("4"))
      return `an event with a wrong signature was answered ${answer}`;
    const { handled } = await outcome();
    return handled.includes("evt_forged") && `an event without a signature was answered ${status}`;
  },
  async "the same again"({ service, createApp }) {
    service.chaos.add({ effect: "duplicate" });
    const { times } = await createApp();
    return times !== 1 && `an event that came twice was worked on ${times} times`;
  },
  async "how long a sender waits"({ createApp }) {
    const { answer, times } = await createApp();
    const isRight = times === 1 && answer.startsWith("2");
    return !isRight && `the sender saw ${answer}, the event was worked on ${times} times`;
  },
  async "which comes first"({ service, api, createApp, outcome }) {
    const { id } = await createApp();
    service.chaos.add({ effect: "reorder" });
    for (const title of ["Second", "Third"]) {
      await api.patch(`/apps/${id}`, { title });
      await passed(2); // so that their times differ
    }
    const title = (await outcome()).apps[id];
    return title !== "Third" && `the app is called Third, and in the receiver ${title}`;
  },
};

async function check([about, run]: [string, Check]): Promise<boolean> {
  const env = { PORT: "0", WEBHOOK_SECRET: secret, WORK_MS };
  const { child, said, prints, kill } = started([file], env);
  child.stderr.pipe(process.stderr);
  // A receiver that exits early has already printed its error.
  await prints("\n").catch(() => undefined);
  const [url] = /http:\S+/.exec(said.stdout) ?? misused(`${file} does not say where it listens.`);
  await using scene = await createScene(url);
  const wrong = await run(scene).catch(({ message }: Error) => message);
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
