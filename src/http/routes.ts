// THE route table (spec part 4; contract, part 4): what each path does, which scope it takes, and whether the
// specification shows it (`spec`) or this project chose it (`gap`).
import type { Operation } from "./route.ts";
import { accountRoutes } from "./routes-account.ts";
import { appRoutes } from "./routes-apps.ts";
import { webhookRoutes } from "./routes-webhooks.ts";

export const routes: readonly Operation[] = [...appRoutes, ...webhookRoutes, ...accountRoutes];
