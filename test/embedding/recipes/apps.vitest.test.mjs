// Vitest: npx vitest run

import { startService } from "app-hosting-service";
import { afterAll, beforeEach, expect, test } from "vitest";

const service = await startService({
  clock: "manual",
  seed: { accounts: [{ name: "Mine", apps: [{ title: "Seeded" }] }] },
});
beforeEach(() => service.reset());
afterAll(() => service.close());

test("the seeded app is listed", async () => {
  const headers = { Authorization: `Bearer ${service.apiKey}` };
  const answer = await fetch(`${service.baseUrl}/apps`, { headers });
  expect((await answer.json()).data[0].title).toBe("Seeded");
  expect(service.requests.at(-1)).toMatchObject({ method: "GET", path: "/v1/apps", status: 200 });
});
