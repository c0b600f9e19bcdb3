// Which scope each kind of operation takes (spec part 5 names the scopes, not where they apply).
import { decide } from "../decisions.ts";

/** `manage` is for all that no line of the table of scopes names. */
export const SCOPE = {
  readApps: "read:apps",
  writeApps: "write:apps",
  deleteApps: "delete:apps",
  readData: "read:data",
  manage: decide("5.scope-per-endpoint"),
  any: null,
} as const;
