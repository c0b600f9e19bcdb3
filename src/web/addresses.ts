// Where the dashboard is; every page below it starts its own address with this one.
import { decide } from "../decisions.ts";

export const DASHBOARD = decide("1.dashboard");
