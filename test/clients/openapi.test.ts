// Clients generated from the OpenAPI document: they compile in strict mode, have no type without values, and
// work against the server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { CLIENTS, clientTest } from "../support/clients.ts";
import { type Embedded, embedded } from "../support/index.ts";

const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const MODULES = join(CLIENTS, "node_modules");

const TSCONFIG = {
  compilerOptions: {
    target: "ES2022",
    lib: ["ES2023", "DOM", "DOM.Iterable"],
    module: "ESNext",
    moduleResolution: "Bundler",
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    noImplicitOverride: true,
    noFallthroughCasesInSwitch: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["**/*.ts"],
};

interface Project extends Embedded {
  folder: string;
  /** Runs Node in the folder; returns its output. */
  node(...args: readonly string[]): Promise<string>;
}

/** Runs `use` with a service and a folder that contains its OpenAPI document; removes both afterwards. */
async function inProject(use: (project: Project) => Promise<void>) {
  const folder = mkdtempSync(join(CLIENTS, "generated-"));
  try {
    await using own = await embedded({ clock: "system", control: true });
    const env = {
      ...process.env,
      BASE_URL: own.baseUrl,
      AUTH_URL: own.authUrl,
      API_KEY: own.service.apiKey ?? "",
    };
    const node = async (...args: readonly string[]) => {
      const running = promisify(execFile)(process.execPath, args, { cwd: folder, env });
      const { stdout } = await running.catch((error) =>
        assert.fail(`${args.join(" ")}\n${error.stdout}${error.stderr}`),
      );
      return stdout;
    };
    writeFileSync(
      join(folder, "openapi.json"),
      await (await fetch(`${own.authUrl}/openapi.json`)).text(),
    );
    await use({ ...own, folder, node });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Compiles everything in the folder together with this script, and runs the script. */
async function run({ folder, node }: Project, script: string) {
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
  writeFileSync(join(folder, "tour.ts"), PRELUDE + script);
  await node(join(MODULES, "typescript/bin/tsc"), "-p", ".");
  await node("--import", TSX, "tour.ts");
}

const PRELUDE = `import assert from "node:assert/strict";
const { BASE_URL: baseUrl = "", AUTH_URL: authUrl = "", API_KEY: key = "" } = process.env;
const Authorization = \`Bearer \${key}\`;
void [assert, baseUrl, authUrl, key, Authorization];
`;

/** TypeScript types without values, or with any value. */
const VAGUE = /\bunknown\b|\bany\b|Record<string, never>|: never;/;

function assertTyped(file: string, allowed: RegExp) {
  const lines = readFileSync(file, "utf8").split("\n");
  const vague = lines.filter(
    (line) => !/^\s*(\*|\/\*|\/\/)/.test(line) && VAGUE.test(line) && !allowed.test(line),
  );
  assert.deepEqual([...new Set(vague)], [], file);
}

/** Lines that declare an absent parameter, member or method, or headers beside those described. */
const ABSENT = /^\s*(\w+\??: never;|\[name: string\]: unknown;|export type \$defs = )/;

clientTest("openapi-typescript with openapi-fetch: every type fits, and the client works", () =>
  inProject(async (project) => {
    await project.node(
      join(MODULES, "openapi-typescript/bin/cli.js"),
      "openapi.json",
      "-o",
      "schema.ts",
    );
    assertTyped(join(project.folder, "schema.ts"), ABSENT);
    await run(
      project,
      `
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.ts";
const client = createClient<paths>({ baseUrl, headers: { Authorization } });
const created = await client.POST("/apps", { body: { title: "Sales" }, params: { header: { "Idempotency-Key": "1" } } });
assert.ok(created.data);
const path = { app_id: created.data.id };
const renamed = await client.PATCH("/apps/{app_id}", { params: { path }, body: { title: "Costs" } });
assert.equal(renamed.data?.title, "Costs");
const list = await client.GET("/apps", { params: { query: { limit: 1, public: false } } });
assert.deepEqual(list.data?.data.map(({ title }) => title), ["Costs"]);
const deployed = await client.POST("/apps/{app_id}/deploy", { params: { path }, body: { name: "One" } });
const status: "live" | "retired" | undefined = deployed.data?.status;
assert.equal(status, "live");
const source = await client.POST("/data-sources", { body: { name: "Orders", type: "csv", data: "a\\n1\\n" } });
assert.equal(source.data?.type, "csv");
const webhook = await client.POST("/webhooks", { body: { url: "http://localhost:9/", events: ["app.created"] } });
const secret: string | null | undefined = webhook.data?.secret;
assert.match(String(secret), /^whsec_|./);
const missing = await client.GET("/apps/{app_id}", { params: { path: { app_id: "app_0" } } });
const problem: components["schemas"]["Problem"] | undefined = missing.error;
assert.equal(problem?.code, "not_found");
const events = await client.GET("/events");
assert.ok(events.data);
for (const event of events.data.data)
  switch (event.type) {
    case "app.deployed":
      assert.equal(event.data.object.deployment.status, "live");
      break;
    case "app.updated":
      assert.equal(event.data.object.title, "Costs");
  }
assert.equal(events.data.data[0]?.type, "app.created");
const invalid = await client.POST("/apps", { body: { title: "" } });
assert.equal(invalid.error && "errors" in invalid.error && invalid.error.errors?.[0]?.pointer, "#/title");
`,
    );
  }),
);

clientTest("openapi-zod-client: the schemas accept what the server sends, strictly", () =>
  inProject(async (project) => {
    // The generator targets zod 3, which it brings along.
    mkdirSync(join(project.folder, "node_modules"));
    symlinkSync(
      join(MODULES, "openapi-zod-client/node_modules/zod"),
      join(project.folder, "node_modules/zod"),
    );
    const template = join(MODULES, "openapi-zod-client/src/templates/schemas-only.hbs");
    const args = [
      "openapi.json",
      "-o",
      "api.ts",
      "-t",
      template,
      "--export-schemas",
      "--strict-objects",
    ];
    await project.node(join(MODULES, "openapi-zod-client/bin.js"), ...args);
    assertTyped(join(project.folder, "api.ts"), /^$/);
    await run(
      project,
      `
import { schemas } from "./api.ts";
const ask = async (method: string, path: string, body?: object) => {
  const headers = { Authorization, "Content-Type": "application/json" };
  return (await fetch(baseUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })).json();
};
const app = schemas.App.parse(await ask("POST", "/apps", schemas.AppCreate.parse({ title: "Sales" })));
schemas.App.parse(await ask("PATCH", "/apps/" + app.id, schemas.AppUpdate.parse({ title: "Costs" })));
schemas.AppList.parse(await ask("GET", "/apps"));
schemas.Deployment.parse(await ask("POST", "/apps/" + app.id + "/deploy", schemas.DeploymentCreate.parse({ name: "One" })));
const csv = schemas.DataSourceCreate.parse({ name: "N", type: "csv", data: "a\\n1\\n" });
schemas.DataSource.parse(await ask("POST", "/data-sources", csv));
schemas.CreatedWebhook.parse(await ask("POST", "/webhooks", { url: "http://localhost:9/", events: ["app.created"] }));
schemas.Problem.parse(await ask("GET", "/apps/app_0"));
schemas.Problem.parse(await ask("POST", "/apps", {}));
await ask("POST", "/apps/" + app.id + "/interactions", { user_id: "u", interaction_type: "chart_click" });
assert.ok(schemas.EventList.parse(await ask("GET", "/events")).data.length >= 4);
`,
    );
  }),
);
