// Which scope each kind of operation takes (spec part 5 names the scopes, not where they apply).
import { decide } from "../kit/decisions.ts";

export const SCOPE = decide(
  "5.scope-per-endpoint",
  {
    readApps: "read:apps",
    writeApps: "write:apps",
    deleteApps: "delete:apps",
    readData: "read:data",
    manage: "admin",
    any: null,
  },
  {
    open: "which scope each endpoint requires",
    why: "each scope does what its line in the scope table says; what no line names belongs to admin",
  },
);
