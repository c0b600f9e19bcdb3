// What POST /data-sources takes (spec part 4: not shown; contract, parts 2 and 4): rows of JSON that are flat objects, or
// CSV as text. What the rows and the text hold is judged later, by the processing; here only that they can be kept and
// given back as they came.
import { decide } from "../decisions.ts";
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

/** A fault in one row is mostly a fault in all; the answer says how many more there are. */
const FAULTS_LISTED = 20;

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

const TYPES = decide("2.data-source-request");

const common = {
  name: text({ min: 1, max: decide("8.field-lengths").name }),
  // Several apps may show the same data, so a data source can stand alone.
  app_id: withDefault(nullable(text({ min: 1, max: 64 })), null),
};
const DRAFTS = {
  json: object({ ...common, type: oneOf(["json"]), data: flatRows }),
  csv: object({ ...common, type: oneOf(["csv"]), data: csvText }),
};

/** Where the type is not known, `data` is not judged. */
const untyped = object({ ...common, type: oneOf(TYPES), data: { json: {}, check: () => "" } });

export type DataSourceDraft = Infer<(typeof DRAFTS)[keyof typeof DRAFTS]>;

export const dataSourceDraft: Schema<DataSourceDraft> = {
  json: { oneOf: TYPES.map((type) => DRAFTS[type].json) },
  check(value, path, faults) {
    const given = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
    const type = TYPES.find((each) => each === given);
    if (type !== undefined) return DRAFTS[type].check(value, path, faults);
    untyped.check(value, path, faults);
    return trusted(value); // the line above has found at least the fault in `type`
  },
};
