// What POST /data-sources takes (spec part 4: not shown; contract, parts 2 and 4): rows of JSON that are flat objects, or
// CSV as text. What the rows and the text hold is judged later, by the processing; here only that they can be kept and
// given back as they came.
import { decide } from "../kit/decisions.ts";
import {
  type Fault,
  type Infer,
  nullable,
  object,
  oneOf,
  type Schema,
  text,
  trusted,
  unfitText,
  withDefault,
} from "../kit/schema.ts";
import { COLUMNS_MAX, type Row } from "./columns.ts";

const FAULTS_LISTED = decide("7.data-faults-listed", 20, {
  open: "how many faults of the rows of a data source one answer lists",
  why: "a fault in one row is mostly a fault in all; the answer says how many more there are",
});

const scalar = { type: ["string", "number", "boolean", "null"] };

/** Rows are kept as they came, not copied: a copy could lose a member called __proto__. */
export const flatRows: Schema<readonly Row[]> = {
  json: { type: "array", items: { type: "object", additionalProperties: scalar } },
  check(value, path, faults) {
    let found = 0;
    for (const fault of faultsOf(value)) {
      if (found < FAULTS_LISTED) faults.push({ ...fault, path: [...path, ...fault.path] });
      found += 1;
    }
    const more = found - FAULTS_LISTED;
    if (more > 0) faults.push({ path, detail: `has ${more} more ${more === 1 ? "fault" : "faults"}, not listed` });
    return trusted(value); // every row and value was looked at above
  },
};

function* faultsOf(data: unknown): Generator<Fault> {
  const rows: readonly unknown[] | undefined = Array.isArray(data) ? data : undefined;
  if (rows === undefined) yield { path: [], detail: "must be an array of flat objects" };
  for (const [at, row] of (rows ?? []).entries()) {
    if (typeof row !== "object" || row === null || Array.isArray(row)) {
      yield { path: [at], detail: "must be a flat object" };
      continue;
    }
    const members = Object.entries(row);
    if (members.length > COLUMNS_MAX) {
      yield { path: [at], detail: `must have ${COLUMNS_MAX} members at most` };
      continue;
    }
    for (const [name, value] of members) {
      const unfitName = unfitText(name);
      if (unfitName !== undefined) yield { path: [at], detail: `has a member whose name ${unfitName}` };
      const unfit = unfitCell(value);
      if (unfit !== undefined) yield { path: [at, name], detail: unfit };
    }
  }
}

function unfitCell(value: unknown): string | undefined {
  if (typeof value === "string") return unfitText(value);
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "must be a finite number";
  return value === null || typeof value === "boolean" ? undefined : "must be a string, a number, true, false or null";
}

/** As long as the body may be; whether it is CSV is told by the processing. */
export const csvText: Schema<string> = {
  json: { type: "string" },
  check(value, path, faults) {
    const unfit = typeof value === "string" ? unfitText(value) : "must be a string of CSV";
    if (unfit !== undefined) faults.push({ path, detail: unfit });
    return typeof value === "string" ? value : "";
  },
};

const RULES = decide(
  "2.data-source-request",
  { name: { min: 1, max: 200 }, app_id: { min: 1, max: 64 }, json: ["json"], csv: ["csv"] },
  {
    open: "the body of POST /data-sources",
    why: "a name, and data in one of the two forms that every tool can write: an array of flat objects, or CSV as text",
  },
);
const common = {
  name: text(RULES.name),
  app_id: withDefault(
    nullable(text(RULES.app_id)),
    decide("2.data-source-app", null, {
      open: "whether a data source belongs to an app",
      why: "several apps may show the same data, so a data source can stand alone",
    }),
  ),
};
const draftOf = <T extends "json" | "csv", D>(types: readonly T[], data: Schema<D>) =>
  object({ ...common, type: oneOf(types), data });
const jsonDraft = draftOf(RULES.json, flatRows);
const csvDraft = draftOf(RULES.csv, csvText);
/** Where the type is not known, `data` is not judged. */
const untyped = draftOf([...RULES.json, ...RULES.csv], { json: {}, check: () => "" });

export type DataSourceDraft = Infer<typeof jsonDraft> | Infer<typeof csvDraft>;

export const dataSourceDraft: Schema<DataSourceDraft> = {
  json: { oneOf: [jsonDraft.json, csvDraft.json] },
  check(value, path, faults) {
    const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
    const draft = type === "json" ? jsonDraft : type === "csv" ? csvDraft : untyped;
    return trusted(draft.check(value, path, faults)); // `untyped` finds at least the fault in `type`
  },
};
