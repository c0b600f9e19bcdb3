// Apps and user interactions (spec parts 2, 4 and 6). A change, its event and that event's deliveries share one
// transaction.
import { isExactNumber, type KeepNumbers } from "../lib/numbers.ts";
import type { Infer } from "../lib/schema.ts";
import {
  boolean,
  coerce,
  nullable,
  object,
  optional,
  pick,
  stringOrNumber,
  text,
  withDefault,
} from "../lib/schema.ts";
import { createCrudService, paginate, paginationParameters } from "./crud.ts";
import { recordEvent } from "./events.ts";
import type { AccountRecord, AppRecord, AppTombstone } from "./model.ts";
import { app, apps, dataSources, deployments, deploymentTombstones, domains } from "./model.ts";
import type { Reader, Tx } from "./store.ts";
import type { TxContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";
import type { Decide } from "./variants.ts";

const EXAMPLE_APP = { title: "My first app", description: "", theme: "light", public: false };
/** Smallest valid create body, shown to new users. */
export const exampleApp = (decide: Decide) =>
  Object.fromEntries(decide("2.app-fields").map((name) => [name, EXAMPLE_APP[name]]));

type AppDraft = WithOptionalId<Infer<typeof app.createBody>>;

export async function addApp(
  { tx, ids, timestamp: at }: TxContext,
  account_id: string,
  draft: AppDraft,
) {
  const { id = ids.next("app_"), title, description, theme, public: shared } = draft;
  // Copied by name: spreading a draft with more members takes ten times as long, and so does serialising the result.
  const app: AppRecord = {
    id,
    created_at: at,
    updated_at: at,
    account_id,
    title,
    description,
    theme,
    public: shared,
  };
  await tx.put(apps, app);
  return app;
}

export const appQuery = object({ ...paginationParameters, public: optional(coerce(boolean)) });

export const listApps = (reader: Reader, account: AccountRecord, query: Infer<typeof appQuery>) =>
  paginate(
    reader,
    apps,
    query.public === undefined ? "account" : "account_public",
    [account.id, query.public],
    query,
  );

export const appService = createCrudService(apps, "app", app, {
  onCreate: createApp,
  onUpdate: updateApp,
  onDelete: deleteApp,
});

async function createApp(
  ctx: TxContext,
  account_id: string,
  draft: AppDraft,
  account: AccountRecord,
) {
  const createdApp = await addApp(ctx, account_id, draft);
  await recordEvent(ctx, account, "app.created", pick(app.response, createdApp));
  return createdApp;
}

async function updateApp(
  ctx: TxContext,
  after: AppRecord,
  _before: AppRecord,
  account: AccountRecord,
) {
  const updatedApp = { ...after, updated_at: ctx.timestamp };
  await recordEvent(ctx, account, "app.updated", pick(app.response, updatedApp));
  return updatedApp;
}

/** Small, so that no other transaction waits long. */
const BATCH_SIZE = 50;

/**
 * Deletes one batch of the app's deployments and detaches its data sources, which may be shared and costly to load.
 * Returns whether there may be more. They are unreachable meanwhile, because the app is deleted.
 */
export async function deleteDependents(
  tx: Tx,
  { id, account_id, deleted_at }: AppTombstone,
): Promise<boolean> {
  const range = { offset: 0, limit: BATCH_SIZE };
  const appDeployments = await tx.page(deployments, "app", [id], range);
  for (const deployment of appDeployments) {
    const { live_domain } = deployment;
    await tx.remove(deployments, deployment.id);
    await tx.put(deploymentTombstones, { id: deployment.id, account_id });
    // Another app may hold the domain by now.
    if (live_domain !== null && (await tx.get(domains, live_domain))?.app_id === id)
      await tx.remove(domains, live_domain);
  }
  const sources = await tx.page(dataSources, "app", [id], range);
  for (const source of sources)
    await tx.put(dataSources, { ...source, app_id: null, updated_at: deleted_at });
  return appDeployments.length === BATCH_SIZE || sources.length === BATCH_SIZE;
}

async function deleteApp(ctx: TxContext, deletedApp: AppRecord, account: AccountRecord) {
  const { id, account_id } = deletedApp;
  const tombstone = { id, account_id, deleted_at: ctx.timestamp, partition: "gone_apps" } as const;
  while (await deleteDependents(ctx.tx, tombstone));
  await recordEvent(ctx, account, "app.deleted", pick(app.response, deletedApp));
}

const coordinate = withDefault(nullable(stringOrNumber(text({ max: 1_000 }))), null);
export const dataPoint = object({ x: coordinate, y: coordinate, category: coordinate });
/** Accepts any user and any interaction type, because the specification's type is only an example. */
export const interactionBody = object({
  user_id: text({ min: 1, max: 200 }),
  interaction_type: text({ min: 1, max: 64 }),
  chart_id: withDefault(nullable(text({ max: 200 })), null),
  data_point: withDefault(nullable(dataPoint), null),
});

/** Keeps a coordinate as text if a double would round it. */
export const keepNumbersOfPoint: KeepNumbers = (sent, written) => {
  const [point, as] = [Object(Object(sent).data_point), Object(Object(written).data_point)];
  for (const [name, value] of Object.entries(point))
    if (typeof value === "number" && typeof as[name] === "string" && !isExactNumber(as[name]))
      point[name] = as[name];
};

/** Records an interaction of a user with the app as an event, without other changes. */
export const recordInteraction = (
  unit: UnitOfWork,
  account: AccountRecord,
  app_id: string,
  interaction: Infer<typeof interactionBody>,
) =>
  appService.withRecord(unit, account, app_id, (ctx) =>
    recordEvent(ctx, account, "user.interaction", { app_id, ...interaction }),
  );
