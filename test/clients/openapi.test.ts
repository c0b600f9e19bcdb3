// Clients generated from the OpenAPI documents: they compile in strict mode, have no type without values, and
// work against the server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type Answer, Client } from "../support/client.ts";
import { CLIENTS, clientTest } from "../support/clients.ts";
import { type Embedded, embedded } from "../support/embedded.ts";
import { ApiDocument } from "../support/openapi.ts";
import { closedPort } from "../support/ports.ts";
import { started } from "../support/process.ts";
import { sendExamples } from "../support/world.ts";

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
  readonly folder: string;
  /** Runs Node in the folder; returns its output. */
  node(...args: readonly string[]): Promise<string>;
}

/** Runs `use` with a service and a folder that contains its OpenAPI document; removes both afterwards. */
async function inProject(
  use: (project: Project) => Promise<void>,
  document = "/openapi.json",
): Promise<void> {
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
    writeFileSync(join(folder, "openapi.json"), await (await fetch(own.authUrl + document)).text());
    await use({ ...own, folder, node });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Compiles everything in the folder together with this script, and runs the script. */
async function run({ folder, node }: Project, script: string): Promise<void> {
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

function assertTyped(file: string, allowed: RegExp): void {
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

clientTest(
  "openapi-typescript with openapi-fetch: the test controls' types fit, and their client works",
  () =>
    inProject(async (project) => {
      await project.node(
        join(MODULES, "openapi-typescript/bin/cli.js"),
        "openapi.json",
        "-o",
        "schema.ts",
      );
      assertTyped(
        join(project.folder, "schema.ts"),
        /^\s*(\w+\??: never;|\[(name|key): string\]: unknown;|export type (\$defs|webhooks) = )/,
      );
      await run(
        project,
        `
import createClient from "openapi-fetch";
import type { paths } from "./schema.ts";
const client = createClient<paths>({ baseUrl: authUrl, headers: { Authorization } });
const fault = await client.POST("/_control/faults", { body: { method: "GET", path: "/v1/apps", status: 503 } });
assert.equal(fault.data?.times, 1);
assert.equal((await fetch(baseUrl + "/apps", { headers: { Authorization } })).status, 503);
const clock = await client.POST("/_control/clock", { body: { freeze: true } });
assert.match(String(clock.data?.now), /Z$/);
const snapshot = await client.GET("/_control/snapshot");
assert.ok(snapshot.data);
assert.equal((await client.PUT("/_control/snapshot", { body: snapshot.data })).response.status, 204);
assert.equal((await client.POST("/_control/reset")).response.status, 204);
`,
      );
    }, "/_control/openapi.json"),
);

clientTest("hey-api: the client works", () =>
  inProject(async (project) => {
    const args = ["-i", "openapi.json", "-o", "api", "-c", "@hey-api/client-fetch"];
    await project.node(join(MODULES, "@hey-api/openapi-ts/bin/run.js"), ...args);
    assertTyped(join(project.folder, "api/types.gen.ts"), ABSENT);
    await run(
      project,
      `
import type { AppCreate, CreatedWebhook, Problem404 } from "./api/index.ts";
import { createApp, createDataSource, createWebhook, deployApp, getApp, listApps, listEvents, updateApp } from "./api/index.ts";
import { client } from "./api/client.gen.ts";
client.setConfig({ baseUrl, auth: () => key });
const body: AppCreate = { title: "Sales" };
const { data: app } = await createApp({ body, throwOnError: true });
const path = { app_id: app.id };
assert.equal((await updateApp({ path, body: { title: "Costs" } })).data?.title, "Costs");
assert.deepEqual((await listApps({ query: { limit: 1 } })).data?.data.map(({ title }) => title), ["Costs"]);
assert.equal((await deployApp({ path, body: { name: "One" } })).data?.status, "live");
assert.equal((await createDataSource({ body: { name: "N", type: "json", data: [{ a: 1 }] } })).data?.type, "json");
const { data: webhook } = await createWebhook({ body: { url: "http://localhost:9/", events: ["app.created"] }, throwOnError: true });
const created: CreatedWebhook = webhook;
assert.ok(created.secret);
const { error, response } = await getApp({ path: { app_id: "app_0" } });
assert.equal(response?.status, 404);
const code: Problem404["code"] | undefined = error?.code === "not_found" ? error.code : undefined;
assert.equal(code, "not_found");
const { data: events } = await listEvents({ throwOnError: true });
for (const event of events.data) if (event.type === "app.deployed") assert.equal(event.data.object.deployment.status, "live");
`,
    );
  }),
);

clientTest("orval: the client works", () =>
  inProject(async (project) => {
    const output = { target: "api.ts", client: "fetch", mode: "single", baseUrl: project.baseUrl };
    const options = JSON.stringify({ input: { target: "openapi.json" }, output });
    writeFileSync(
      join(project.folder, "generate.mjs"),
      `import { generate } from "orval"; await generate(${options});`,
    );
    await project.node("generate.mjs");
    assertTyped(join(project.folder, "api.ts"), /^$/);
    await run(
      project,
      `
import { createApp, createDataSource, createWebhook, deployApp, getApp, listApps, updateApp } from "./api.ts";
const options = { headers: { Authorization } };
const created = await createApp({ title: "Sales" }, options);
assert.ok(created.status === 201);
const { id } = created.data;
const updated = await updateApp(id, { title: "Costs" }, options);
assert.equal(updated.status === 200 && updated.data.title, "Costs");
const list = await listApps({ limit: 1 }, options);
assert.equal(list.status === 200 && list.data.data[0]?.title, "Costs");
const deployed = await deployApp(id, { name: "One" }, options);
assert.equal(deployed.status === 201 && deployed.data.status, "live");
const source = await createDataSource({ name: "N", type: "csv", data: "a\\n1\\n" }, options);
assert.equal(source.status === 201 && source.data.type, "csv");
const webhook = await createWebhook({ url: "http://localhost:9/", events: ["app.created"] }, options);
assert.ok(webhook.status === 201 && webhook.data.secret);
const missing = await getApp("app_0", options);
assert.ok(missing.status === 404);
assert.equal(missing.data.code, "not_found");
`,
    );
  }),
);

clientTest("kubb: the client works", () =>
  inProject(async (project) => {
    writeFileSync(
      join(project.folder, "kubb.config.mjs"),
      `import { pluginClient } from "@kubb/plugin-client";
import { pluginOas } from "@kubb/plugin-oas";
import { pluginTs } from "@kubb/plugin-ts";
export default {
  root: ".",
  input: { path: "./openapi.json" },
  output: { path: "./api", format: false, lint: false },
  plugins: [pluginOas({ validate: false, generators: [] }), pluginTs(), pluginClient({ client: "fetch" })],
};`,
    );
    const cli = join(MODULES, "@kubb/cli/bin/kubb.cjs");
    await project.node(cli, "generate", "--config", "kubb.config.mjs", "--logLevel", "silent");
    const types = join(project.folder, "api/types");
    // A response without a body has the type any.
    for (const name of readdirSync(types))
      assertTyped(join(types, name), /^export type \w+(204|304) = any/);
    await run(
      project,
      `
import { setConfig } from "@kubb/plugin-client/clients/fetch";
import { createApp, createDataSource, createWebhook, deployApp, listApps, listEvents, updateApp } from "./api/index.ts";
setConfig({ baseURL: baseUrl, headers: { Authorization, "Content-Type": "application/json" } });
const app = await createApp({ title: "Sales" });
assert.equal((await updateApp(app.id, { title: "Costs" })).title, "Costs");
assert.deepEqual((await listApps({ limit: 1 })).data.map(({ title }) => title), ["Costs"]);
assert.equal((await deployApp(app.id, { name: "One" })).status, "live");
assert.equal((await createDataSource({ name: "N", type: "csv", data: "a\\n1\\n" })).type, "csv");
assert.ok((await createWebhook({ url: "http://localhost:9/", events: ["app.created"] })).secret);
for (const event of (await listEvents()).data)
  if (event.type === "app.deployed") assert.equal(event.data.object.deployment.status, "live");
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
schemas.Problem404.parse(await ask("GET", "/apps/app_0"));
schemas.Problem422.parse(await ask("POST", "/apps", {}));
await ask("POST", "/apps/" + app.id + "/interactions", { user_id: "u", interaction_type: "chart_click" });
assert.ok(schemas.EventList.parse(await ask("GET", "/events")).data.length >= 4);
`,
    );
  }),
);

clientTest("prism as a validating proxy finds nothing wrong with any request or response", () =>
  inProject(async ({ folder, service, baseUrl, authUrl }) => {
    const port = await closedPort();
    const prism = join(MODULES, "@stoplight/prism-cli/dist/index.js");
    const { prints, kill } = started([
      prism,
      "proxy",
      join(folder, "openapi.json"),
      baseUrl,
      "--port",
      `${port}`,
    ]);
    try {
      await prints("Prism is listening");
      const seen: string[] = [];
      const observe = (method: string, path: string, answer: Answer) => {
        seen.push(`${method} ${path} ${answer.status}`);
        assert.equal(
          answer.headers["sl-violations"],
          undefined,
          `${method} ${path} ${answer.status}`,
        );
      };
      const api = new Client({ baseUrl: `http://127.0.0.1:${port}`, key: service.apiKey, observe });
      const document = await ApiDocument.of(authUrl);
      await sendExamples(document, api, () => undefined);
      const { id } = await api.create("/apps", { title: "T" });
      await api.post(`/apps/${id}/interactions`, { user_id: "u", interaction_type: "chart_click" });
      const { headers } = await api.get(`/apps/${id}`);
      assert.equal(
        (await api.get(`/apps/${id}`, { "if-none-match": String(headers.etag) })).status,
        304,
      );
      assert.equal((await api.get("/events")).status, 200);
      assert.equal((await api.get("/apps/app_0")).status, 404);
      assert.equal(
        (await api.patch(`/apps/${id}`, { title: "U" }, { "if-match": '"0"' })).status,
        412,
      );
      assert.ok(seen.length > document.api.length + 7, `${seen.length} requests`);
      // The proxy does report errors.
      const wrong = await api.with({ observe: () => undefined }).post("/apps", { title: 1 });
      assert.ok(wrong.headers["sl-violations"]);
    } finally {
      await kill();
    }
  }),
);
