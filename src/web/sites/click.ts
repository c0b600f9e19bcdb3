// What a reader of a deployed app clicks, as user.interaction (spec part 6). The form says only which chart and which row; the
// point itself is read from the data again, so nobody can report one that is not there.
import { type Caller, sha256 } from "../../domain/access.ts";
import { interact, interaction } from "../../domain/apps.ts";
import { getDataSource, rowsPage } from "../../domain/data-sources.ts";
import type { Site } from "../../domain/deployments.ts";
import type { AccountRecord, DataSourceRecord, EventRecord } from "../../domain/model.ts";
import { notFound, Refusal } from "../../domain/refusal.ts";
import type { Reader } from "../../domain/store.ts";
import type { Unit } from "../../domain/work.ts";
import { checked } from "../form.ts";
import type { Visit } from "../visit.ts";
import { chartOf, POINTS_MAX } from "./chart.ts";
import type { Shelf } from "./site-page.ts";

/** A deployed app acts for its own account. */
export const callerOf = (account: AccountRecord): Caller => ({ account, scopes: new Set(), credential: "site" });

/** A data source with as many of its rows as are shown. */
export async function shelfOf(reader: Reader, caller: Caller, source: DataSourceRecord): Promise<Shelf> {
  const page = await rowsPage(reader, caller, source.id, { offset: 0, limit: POINTS_MAX });
  return { source, rows: page instanceof Refusal ? [] : page.items };
}

export interface Click {
  readonly chart: string;
  readonly row: number;
}

export async function reportClick(
  unit: Unit,
  visit: Visit,
  { app, account }: Site,
  { chart, row }: Click,
): Promise<EventRecord | Refusal> {
  const caller = callerOf(account);
  const source = await getDataSource(unit.store, caller, chart);
  if (source instanceof Refusal) return source;
  if (source.app_id !== app.id) return notFound("data source");
  const { rows } = await shelfOf(unit.store, caller, source);
  const point = chartOf(source.columns ?? [], rows)?.points.find((each) => each.row === row);
  if (point === undefined) return notFound("point");
  const { x, y, category } = point;
  const done = checked(interaction, {
    user_id: visitorOf(visit, account),
    interaction_type: "chart_click",
    chart_id: source.id,
    data_point: { x, y, category },
  });
  return done instanceof Refusal ? done : interact(unit, caller, app.id, done);
}

/** Made from the browser's cookie by a one-way hash: the same person stays the same, and nobody is named. */
const VISITOR = { prefix: "visitor_", length: 20 };

/** The user where one is signed in to the app's account; otherwise a name that stays the same for this browser. */
const visitorOf = ({ signedIn, secret }: Visit, account: AccountRecord): string =>
  signedIn?.account.id === account.id
    ? signedIn.user.id
    : VISITOR.prefix + sha256(`visitor ${secret}`).slice(0, VISITOR.length);
