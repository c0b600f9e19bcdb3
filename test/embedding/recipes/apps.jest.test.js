// Jest runs ES modules when asked to: NODE_OPTIONS=--experimental-vm-modules npx jest, "type": "module" in package.json.
import { startService } from "app-hosting-service";

let service;
beforeAll(async () => {
  service = await startService({ clock: "manual" });
});
afterAll(() => service.close());

test("time stands still", async () => {
  const headers = { Authorization: `Bearer ${service.apiKey}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ title: "Sales" });
  const answer = await fetch(`${service.baseUrl}/apps`, { method: "POST", headers, body });
  expect((await answer.json()).created_at).toBe("2026-01-01T00:00:00.000Z");
});
