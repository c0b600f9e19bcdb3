// Jest: npx jest
const { startService } = require("app-hosting-service");

let service;
beforeAll(async () => {
  service = await startService({ clock: "manual", startAt: "2026-01-01T00:00:00.000Z" });
});
afterAll(() => service.close());

test("time stands still", async () => {
  const headers = { Authorization: `Bearer ${service.apiKey}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ title: "Sales" });
  const answer = await fetch(`${service.baseUrl}/apps`, { method: "POST", headers, body });
  expect((await answer.json()).created_at).toBe("2026-01-01T00:00:00.000Z");
});
