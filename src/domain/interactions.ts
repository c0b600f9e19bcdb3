// What users do in a deployed app (spec part 6, user.interaction): reported by a client or by the app's own page, recorded
// as an event and nothing else.
import { type Infer, nullable, object, orNumber, text, withDefault } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { getApp } from "./apps.ts";
import { recordEvent } from "./events.ts";
import type { EventRecord } from "./model.ts";
import { Refusal } from "./refusal.ts";
import type { Unit } from "./work.ts";

const coordinate = withDefault(nullable(orNumber(text({ max: 1_000 }))), null);
/** The user may be anybody, and any type is taken, since the one that is shown is only an observed one. */
export const interaction = object({
  user_id: text({ min: 1, max: 200 }),
  interaction_type: text({ min: 1, max: 64 }),
  chart_id: withDefault(nullable(text({ max: 200 })), null),
  data_point: withDefault(nullable(object({ x: coordinate, y: coordinate, category: coordinate })), null),
});

/** Records that a user did something in the app. */
export const interact = (unit: Unit, caller: Caller, app_id: string, done: Infer<typeof interaction>) =>
  unit.transact<EventRecord>(async (w) => {
    const app = await getApp(w.tx, caller, app_id);
    return app instanceof Refusal ? app : recordEvent(w, caller.account, "user.interaction", { app_id, ...done });
  });
