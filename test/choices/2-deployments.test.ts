// Deployments (spec part 2 names the fields of the request and of the object; the bounds are the contract's).
import assert from "node:assert/strict";
import { startService } from "../../src/index.ts";
import { choice } from "../support/clauses.ts";
import { Client } from "../support/client.ts";
import { fieldRule, ISO_TIME, idOf, NOT_TEXT, requiredFields, wide } from "../support/fields.ts";
import { freshHost } from "../support/fresh.ts";
import { invalid } from "../support/problem.ts";
import { closedPort } from "../support/receivers.ts";

/** The path that deploys a new app. */
const deployPath = async (api: Client) => `/apps/${(await api.create("/apps", { title: "Deployed" })).id}/deploy`;

choice("4.create-status.deployment", "has eight fields, all always present", async ({ api, authUrl }) => {
  const path = await deployPath(api);
  const { id, url, deployed_at, ...rest } = await api.create(path, { name: "R" });
  assert.match(id, idOf("dep"));
  assert.equal(url, `${authUrl}/sites/${id}/`);
  assert.match(String(deployed_at), ISO_TIME);
  const app_id = path.split("/")[2];
  assert.deepEqual(rest, { app_id, name: "R", environment: "production", custom_domain: null, status: "live" });
});

choice("4.create-status.deploy-name", "is required, 1 to 100 characters", async ({ api }) => {
  const path = await deployPath(api);
  await requiredFields(api, path, { name: "R" });
  const bad = ["", "n".repeat(101), wide(101), ...NOT_TEXT];
  await fieldRule(api, path, {}, { field: "name", good: ["n", "n".repeat(100), wide(100)], bad });
});

choice("2.environments", "is a slug of up to 63 characters", async ({ api }) => {
  const good = ["a", "0", "a".repeat(63), "my-env-2", "a-", "0-0"];
  const bad = ["", "a".repeat(64), "-a", "A", "Prod", "a_b", "a.b", "a b", " a", "a\n", "ä", ...NOT_TEXT];
  await fieldRule(api, await deployPath(api), { name: "R" }, { field: "environment", good, bad });
});

choice("3.custom-domain.names", "takes host names of two labels or more, and nothing else", async ({ api }) => {
  const label = "a".repeat(63);
  const longest = `${label}.${label}.${label}.${"b".repeat(57)}.com`;
  assert.equal(longest.length, 253);
  const names = "a.b xn--bcher-kva.example 1.example a-b.c-d.example".split(" ");
  const good = [null, ...names, `${label}.com`, longest, freshHost()];
  const bad = [
    ...["", "a", "localhost", "a..b", ".a.b", "-a.example", "a-.example", `${"a".repeat(64)}.com`, `x${longest}`],
    ...["127.0.0.1", "10.0.0.1", "1.2.3", "[::1]", "::1", "0x7f.1", "a.1"],
    ...["a.example:80", "https://a.example", "a.example/", "a.example/x", "u@a.example", "a b.example", "a_b.example"],
    ...["*.example.com", "a.example?x", "a.example#x", "%61.example", "a.example\n"],
    ...NOT_TEXT.filter((value) => value !== null),
    // Within the length as it is written, beyond it in the ASCII form.
    `${`${"ü".repeat(45)}.`.repeat(5)}example`,
  ];
  await fieldRule(api, await deployPath(api), { name: "R" }, { field: "custom_domain", good, bad });
});

choice("3.custom-domain.names", "is kept in lower case and in its ASCII form", async ({ api }) => {
  const path = await deployPath(api);
  for (const [sent, kept] of [
    ["Shop.EXAMPLE.org", "shop.example.org"],
    ["bücher.example.org", "xn--bcher-kva.example.org"],
    ["STRASSE.example.org", "strasse.example.org"],
  ])
    assert.equal((await api.create(path, { name: "R", custom_domain: sent })).custom_domain, kept);
});

choice("3.custom-domain.names", "is never the server's own host", "ours", async () => {
  const port = await closedPort();
  const service = await startService({ port, log: "off", publicUrl: "https://apps.example.net" });
  const api = new Client({ baseUrl: `http://127.0.0.1:${port}/v1`, key: service.apiKey });
  try {
    assert.equal(service.baseUrl, "https://apps.example.net/v1");
    const { headers } = await api.root.get("/healthz");
    assert.equal(headers["strict-transport-security"], "max-age=31536000", "browsers stay with https");
    const path = await deployPath(api);
    for (const custom_domain of ["apps.example.net", "APPS.Example.net"])
      invalid(await api.post(path, { name: "R", custom_domain }), "#/custom_domain");
    for (const custom_domain of ["www.apps.example.net", "example.net"])
      await api.create(path, { name: "R", custom_domain });
  } finally {
    api.close();
    await service.close();
  }
});
