// Spec part 5: the header, API keys, and the causes of 401 and 403.
import assert from "node:assert/strict";
import { clause } from "../support/clauses.ts";
import type { Answer, Client } from "../support/client.ts";
import { APP, newApp } from "../support/shown.ts";

const HOOK = { url: "https://hooks.example.com/in", events: ["app.created"], secret: "s", active: false };

const withHeader = (api: Client, authorization: string): Promise<Answer> =>
  api.as(null).get("/apps", { authorization });

clause("5.bearer-header", "Authorization: Bearer, on every request", async ({ api }) => {
  assert.equal((await withHeader(api, `Bearer ${api.key}`)).status, 200);
});

clause("5.api-key.full-access", "a key opens the whole account", async ({ api }) => {
  const { id } = await newApp(api);
  for (const [method, path, body] of [
    ["GET", "/apps"],
    ["POST", `/apps/${id}/deploy`, { name: "R", environment: "production" }],
    ["POST", "/data-sources", {}],
    ["POST", "/webhooks", HOOK],
    ["DELETE", `/apps/${id}`],
  ] as const)
    assert.ok(![401, 403].includes((await api.call(method, path, body)).status), `${method} ${path}`);
});

clause("5.401.missing", "no Authorization header", async ({ api }) => {
  for (const [method, path] of [
    ["GET", "/apps"],
    ["POST", "/apps"],
    ["DELETE", "/apps/x"],
    ["POST", "/webhooks"],
  ] as const)
    assert.equal((await api.as(null).send(method, path)).status, 401, `${method} ${path}`);
});

clause("5.401.invalid", "an invalid credential", async ({ api }) => {
  for (const token of ["ahs_nobody-has-this-key", "nonsense", "a.b.c", `${api.key}x`, String(api.key).slice(0, -1)])
    assert.equal((await api.as(token).get("/apps")).status, 401, token);
});

clause("5.401.format", "a wrong format", async ({ api }) => {
  for (const value of [String(api.key), `Basic ${api.key}`, "Bearer", "Bearer two tokens", `Bearer: ${api.key}`])
    assert.equal((await withHeader(api, value)).status, 401, value);
});

const KEPT = "app_kept0000000000000000000";
const held = (state: string) => ({
  seed: { accounts: [{ name: "Held", state, apps: [{ id: KEPT, title: "Kept" }] }] },
});

clause("5.403.limited", "a limited account", held("limited"), async ({ api }) => {
  assert.equal((await api.post("/apps", APP)).status, 403);
  assert.equal((await api.delete(`/apps/${KEPT}`)).status, 403);
});

clause("5.403.suspended", "a suspended account", held("suspended"), async ({ api }) => {
  for (const method of ["GET", "HEAD", "POST"]) assert.equal((await api.send(method, "/apps")).status, 403, method);
});
