// Apps and user interactions (spec parts 2, 4 and 6). A change, its event and that event's deliveries share one
// transaction.
import type { KeepNumbers } from "../lib/numbers.ts";
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
import { keepNumbersOfRows, readMember } from "./columns.ts";
import { createCrudService, paginate, paginationParameters } from "./crud.ts";
import { recordEvent } from "./events.ts";
import type { AccountRecord, AppRecord } from "./model.ts";
import { app, apps, dataSources, deployments, deploymentTombstones } from "./model.ts";
import { ALL_RECORDS, type Reader } from "./store.ts";
import type { TxContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";

/** Smallest valid create body, shown to new users. */
export const EXAMPLE_APP = { title: "My first app" };

type AppDraft = WithOptionalId<Infer<typeof app.createBody>>;

export async function addApp(
  ctx: TxContext,
  account_id: string,
  { id = ctx.ids.next("app_"), ...fields }: AppDraft,
): Promise<AppRecord> {
  const record = {
    id,
    ...fields,
    created_at: ctx.timestamp,
    updated_at: ctx.timestamp,
    account_id,
  };
  await ctx.tx.put(apps, record);
  return record;
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

/** The newest tombstones that are kept of each account. */
const TOMBSTONES_MAX = 10_000;

/** Deletes the app's deployments, which frees their domains, and detaches its data sources, which may be shared. */
async function deleteApp(ctx: TxContext, deletedApp: AppRecord, account: AccountRecord) {
  const { tx } = ctx;
  const account_id = account.id;
  for (const { id } of await tx.page(deployments, "app", [deletedApp.id], ALL_RECORDS)) {
    await tx.remove(deployments, id);
    await tx.put(deploymentTombstones, { id, account_id });
  }
  const excess = (await tx.count(deploymentTombstones, "account", [account_id])) - TOMBSTONES_MAX;
  const oldest = { offset: 0, limit: Math.max(excess, 0) };
  for (const { id } of await tx.page(deploymentTombstones, "account", [account_id], oldest))
    await tx.remove(deploymentTombstones, id);
  for (const source of await tx.page(dataSources, "app", [deletedApp.id], ALL_RECORDS))
    await tx.put(dataSources, { ...source, app_id: null, updated_at: ctx.timestamp });
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
export const keepNumbersOfPoint: KeepNumbers = (sent, written) =>
  keepNumbersOfRows([readMember(sent, "data_point")], [readMember(written, "data_point")]);

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
