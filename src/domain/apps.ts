// Apps and user interactions (spec parts 2, 4 and 6). A change, its event and that event's deliveries share one
// transaction.
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
import { createCrudService, paginate, paginationParameters, toNewRecord } from "./crud.ts";
import { recordEvent } from "./events.ts";
import type { AccountRecord } from "./model.ts";
import { app, apps, dataSources, deployments } from "./model.ts";
import { ALL_RECORDS, type Reader } from "./store.ts";
import type { AccountContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";

/** Smallest valid create body, shown to new users. */
export const EXAMPLE_APP = { title: "My first app" };

export const appQuery = object({ ...paginationParameters, public: optional(coerce(boolean)) });

export const listApps = (
  reader: Reader,
  { id }: AccountRecord,
  { public: isPublic, ...range }: Infer<typeof appQuery>,
) => {
  const index = isPublic === undefined ? "account" : "account_public";
  return paginate(reader, apps, index, [id, isPublic], range);
};

export async function createApp(
  ctx: AccountContext,
  draft: WithOptionalId<Infer<typeof app.createBody>>,
) {
  const record = toNewRecord(ctx, "app_", draft);
  await ctx.tx.put(apps, record);
  await recordEvent(ctx, "app.created", pick(app.response, record));
  return record;
}

export const appService = createCrudService(apps, "app", app, {
  onCreate: createApp,

  async onUpdate(ctx, after) {
    await recordEvent(ctx, "app.updated", pick(app.response, after));
    return after;
  },

  /** Deletes the app's deployments, which frees their domains, and detaches its data sources, which may be shared. */
  async onDelete(ctx, deletedApp) {
    const { tx, timestamp } = ctx;
    for (const { id } of await tx.page(deployments, "app", [deletedApp.id], ALL_RECORDS))
      await tx.remove(deployments, id);
    for (const source of await tx.page(dataSources, "app", [deletedApp.id], ALL_RECORDS))
      await tx.put(dataSources, { ...source, app_id: null, updated_at: timestamp });
    await recordEvent(ctx, "app.deleted", pick(app.response, deletedApp));
  },
});

const coordinate = withDefault(nullable(stringOrNumber(text({ max: 1_000 }))), null);
export const dataPoint = object({ x: coordinate, y: coordinate, category: coordinate });
/** Accepts any user and any interaction type, because the specification's type is only an example. */
export const interactionBody = object({
  user_id: text({ min: 1, max: 200 }),
  interaction_type: text({ min: 1, max: 64 }),
  chart_id: withDefault(nullable(text({ max: 200 })), null),
  data_point: withDefault(nullable(dataPoint), null),
});

/** Records an interaction of a user with the app as an event, without other changes. */
export const recordInteraction = (
  unit: UnitOfWork,
  account: AccountRecord,
  app_id: string,
  interaction: Infer<typeof interactionBody>,
) =>
  appService.withRecord(unit, account, app_id, (ctx) =>
    recordEvent(ctx, "user.interaction", { app_id, ...interaction }),
  );
