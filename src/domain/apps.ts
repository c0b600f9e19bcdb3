// Apps and what users do in them (spec parts 2, 4 and 6). A change, its event and the deliveries of that event are one
// transaction.
import { isExactNumber, type KeepNumbers } from "../kit/numbers.ts";
import type { Infer } from "../kit/schema.ts";
import { flag, fromText, nullable, object, optional, orNumber, pick, text, withDefault } from "../kit/schema.ts";
import { recordEvent } from "./events.ts";
import { owned, pageOf, spanParameters } from "./lists.ts";
import type { AccountRecord, AppRecord, GoneApp } from "./model.ts";
import { app, apps, dataSources, deployments, domains, goneApps, goneDeployments, TOPIC } from "./model.ts";
import type { Decide } from "./readings.ts";
import type { Reader, Tx } from "./store.ts";
import type { Seeded, Unit, Work } from "./work.ts";

const FIRST = { title: "My first app", description: "", theme: "light", public: false };
/** The shortest draft that is taken, for whoever has just arrived. */
export const firstApp = (decide: Decide) =>
  Object.fromEntries(decide("2.app-fields").map((name) => [name, FIRST[name]]));

type AppDraft = Seeded<Infer<typeof app.draft>>;

export async function addApp({ tx, ids, at }: Work, account_id: string, draft: AppDraft) {
  const { id = ids.next("app_"), title, description, theme, public: shared } = draft;
  // By name: a copy of the draft with more members costs ten times as much, and again where it is made text of.
  const app: AppRecord = { id, created_at: at, updated_at: at, account_id, title, description, theme, public: shared };
  await tx.put(apps, app);
  return app;
}

export const appQuery = object({ ...spanParameters, public: optional(fromText(flag)) });

export const listApps = (reader: Reader, account: AccountRecord, asked: Infer<typeof appQuery>) =>
  pageOf(reader, apps, asked.public === undefined ? "account" : "account_public", [account.id, asked.public], asked);

export const own = owned(apps, "app", app, { adding, changing, removing });

async function adding(w: Work, account_id: string, draft: AppDraft, account: AccountRecord) {
  const made = await addApp(w, account_id, draft);
  await recordEvent(w, account, "app.created", pick(app.shown, made));
  return made;
}

async function changing(w: Work, after: AppRecord, _before: AppRecord, account: AccountRecord) {
  const changed = { ...after, updated_at: w.at };
  await recordEvent(w, account, "app.updated", pick(app.shown, changed));
  return changed;
}

/** So few of each that nobody waits long for the transaction to end. */
const STEP = 50;

/**
 * A step of what goes with the app: its deployments. Its data sources, which may be shared and costly to load, stay
 * without an app. Answers whether there is more; without its app, it is not to be found in the meantime.
 */
export async function clearAway(tx: Tx, { id, account_id, deleted_at }: GoneApp): Promise<boolean> {
  const span = { offset: 0, limit: STEP };
  const deployed = await tx.page(deployments, "app", [id], span);
  for (const deployment of deployed) {
    const { live_domain } = deployment;
    await tx.remove(deployments, deployment.id);
    await tx.put(goneDeployments, { id: deployment.id, account_id });
    // Another app may have taken it since.
    if (live_domain !== null && (await tx.get(domains, live_domain))?.app_id === id)
      await tx.remove(domains, live_domain);
  }
  const sources = await tx.page(dataSources, "app", [id], span);
  for (const source of sources) await tx.put(dataSources, { ...source, app_id: null, updated_at: deleted_at });
  return deployed.length === STEP || sources.length === STEP;
}

async function removing(w: Work, app: AppRecord, account: AccountRecord) {
  const gone = { id: app.id, account_id: app.account_id, deleted_at: w.at, all: "gone_apps" } as const;
  if (await clearAway(w.tx, gone)) {
    await w.tx.put(goneApps, gone);
    w.tx.tell(TOPIC.events, "");
  }
  await recordEvent(w, account, "app.deleted", app);
}

const coordinate = withDefault(nullable(orNumber(text({ max: 1_000 }))), null);
export const dataPoint = object({ x: coordinate, y: coordinate, category: coordinate });
/** The user may be anybody, and any type is taken, since the one that is shown is only an observed one. */
export const interaction = object({
  user_id: text({ min: 1, max: 200 }),
  interaction_type: text({ min: 1, max: 64 }),
  chart_id: withDefault(nullable(text({ max: 200 })), null),
  data_point: withDefault(nullable(dataPoint), null),
});

/** A coordinate that a double would round is text, as it was sent. */
export const keepNumbersOfPoint: KeepNumbers = (sent, written) => {
  const [point, as] = [Object(Object(sent).data_point), Object(Object(written).data_point)];
  for (const [name, value] of Object.entries(point))
    if (typeof value === "number" && typeof as[name] === "string" && !isExactNumber(as[name])) point[name] = as[name];
};

/** Records that a user did something in the app: an event and nothing else. */
export const interact = (unit: Unit, account: AccountRecord, app_id: string, done: Infer<typeof interaction>) =>
  own.act(unit, account, app_id, (w) => recordEvent(w, account, "user.interaction", { app_id, ...done }));
