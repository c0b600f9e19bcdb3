// The service's documentation: /docs and the OpenAPI document, which every other test compares with the responses.
// Other API versions and deprecation (9.other-versions, 9.deprecation).
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { DECISIONS } from "../../src/decisions.ts";
import { EVENT_TYPES } from "../../src/domain/model.ts";
import { API_ROUTES } from "../../src/http/api.ts";
import { PROBLEMS } from "../../src/http/problem.ts";
import { ALL_VARIANTS } from "../../src/http/variants.ts";
import {
  assertPage,
  attempted,
  attemptsOf,
  begins,
  breaches,
  type Client,
  type Context,
  choice,
  closeLater,
  contains,
  decoded,
  exampleBody,
  fill,
  freshFolder,
  groups,
  isMembers,
  type Members,
  makeWorld,
  members,
  parametersIn,
  person,
  problem,
  resolve,
  shows,
  started,
  str,
  textOf,
} from "../support/index.ts";
import { DOCS } from "../support/showcase.ts";
import { CLAUSES } from "../support/sources.ts";

const TOUR = Array.from("123456789", (part) => `/tour/${part}`);

const docs = (api: Client, page = "") => api.anyone.get(`/docs${page}`);
const firstGroup = (text: string, pattern: string) => new RegExp(pattern).exec(text)?.[1] ?? "";
/** The contents of the code blocks. */
const codeIn = (text: string) => groups(text, /<pre>([\s\S]*?)<\/pre>/g).map(decoded);
/** The part of a page from the heading with this id to the next heading of its level. */
const sectionOf = (text: string, id: string) =>
  new RegExp(`<(h\\d) id="${id}">[\\s\\S]*?(?=<\\1 id|</article>)`).exec(text)?.[0] ?? "";
const withoutSpace = (text: string) => text.replace(/[\s`]/g, "");

choice(
  "1.docs: the pages need no sign-in, are read-only, list their anchors and have no broken links",
  async ({ api }) => {
    const root = api.anyone;
    const texts = new Map<string, string>();
    for (const path of DOCS) {
      const answer = await root.get(path);
      assertPage(answer);
      assert.doesNotMatch(answer.text, /"lead"></);
      texts.set(path, answer.text);
      const wrong = await root.post(path, {});
      assert.deepEqual([wrong.status, wrong.header("allow")], [405, "GET, HEAD"]);
    }
    for (const [path, text] of texts) {
      const navigation = firstGroup(text, '(<nav aria-label="On this page"[\\s\\S]*?</nav>)');
      for (const id of groups(text, /<(?:h\d|div|section)[^>]* id="([^"]*)"/g))
        contains(navigation, `"#${id}"`);
      for (const href of new Set(groups(text, /href="([^"]*)"/g))) {
        const [page = "", anchor] = href.split("#");
        if (anchor !== undefined)
          assert.ok(texts.get(page || path)?.includes(`id="${anchor}"`), href);
        else assert.ok((await root.get(href)).status < 400, href);
      }
    }
  },
);

choice("1.docs: links of the dashboard lead to sections of the pages", async ({ api }) => {
  const folder = new URL("../../src/web/dashboard/", import.meta.url);
  const sources = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8"));
  const links = groups(sources.join(), /\(\/docs([^)]*#[^)]*)\)/g);
  assert.ok(links.length > 0);
  for (const link of links) {
    const [page = "", anchor] = link.split("#");
    contains((await docs(api, page)).text, ` id="${anchor}"`);
  }
});

choice("1.docs: the page of all endpoints lists their paths", async ({ api }) => {
  const { text } = await docs(api, "/endpoints");
  const page = textOf({ text });
  for (const { method, path, summary } of API_ROUTES.routes)
    contains(page, `${summary} ${method} ${path} `);
});

choice("1.docs: the type of every problem is the URL of its entry", async ({ api, authUrl }) => {
  const { text } = await docs(api, "/errors");
  for (const [code, [status, title]] of Object.entries(PROBLEMS)) {
    const entry = decoded(sectionOf(text, code));
    contains(entry, `${status}: ${title}`);
  }
  assert.equal((await api.get("/nothing")).json.type, `${authUrl}/docs/errors#not_found`);
});

/** The parts of a group's page by operation id. */
const sectionsOf = async (api: Client) => {
  const sections = new Map<string, string>();
  for (const { operationId, path, summary } of API_ROUTES.routes) {
    const { text } = await docs(api, `/endpoints/${path.split("/")[1]}`);
    sections.set(operationId, sectionOf(text, summary.toLowerCase().replace(/\W+/g, "-")));
  }
  return sections;
};

choice(
  "1.docs: every endpoint is shown with its origin, scope, fields and a request",
  async ({ api, baseUrl }) => {
    const sections = await sectionsOf(api);
    for (const { operationId, method, path, scope, decision } of API_ROUTES.routes) {
      const entry = sections.get(operationId) ?? "";
      const url = baseUrl + path.replace(/\{(\w+)\}/g, (_, name) => `$${name.toUpperCase()}`);
      const origin = decision ? `#decision-${decision}` : "specification";
      for (const part of [path, scope ?? "Any credential", url, origin, `class="badge ${method}"`])
        contains(entry, part);
    }
    for (const [operation, fields] of [
      [
        "createApp",
        "Body title string, required, 1 to 200 characters description string, 0 to 5000",
      ],
      ["createDataSource", "type one of csv , json , required app_id string or null, 1 to 64"],
      ["createDataSource", "data string or array of object, 0 to 1000000 items, required"],
      ["listApps", "Query limit integer, 1 to 100, default 20 offset integer, default 0 public"],
      ["getDataSource", "columns array of object name string type one of boolean , datetime ,"],
      [
        "getWebhook",
        "disabled_reason one of gone or null created_at string, ISO 8601 time updated",
      ],
    ] as const)
      contains(textOf({ text: sections.get(operation) ?? "" }), fields);
  },
);

/** Compares each response with the schema of the OpenAPI document; returns the parts of the pages. */
async function checkResponses(api: Client, document: Context["document"]) {
  const sections = await sectionsOf(api);
  for (const { value } of document.api) {
    const [, response = ""] = codeIn(sections.get(str(value.operationId)) ?? "");
    const [, status = "", body = ""] = /^HTTP\/1\.1 (\d+)(?:\n\n([\s\S]+))?$/.exec(response) ?? [];
    const { content } = document.deref(members(members(value.responses)[status]));
    assert.equal(body !== "", content !== undefined, `${value.operationId}: ${response}`);
    if (content === undefined) continue;
    const { schema } = members(members(content)["application/json"]);
    assert.deepEqual(breaches(JSON.parse(body), members(schema), document.document), []);
  }
  return sections;
}

choice(
  "1.docs: with all variants the responses match the OpenAPI document, too",
  { variants: ALL_VARIANTS },
  async ({ api, document }) => void (await checkResponses(api, document)),
);

choice(
  "1.docs: the response of every endpoint has its status and matches the schema of the OpenAPI document",
  async ({ api, document }) => {
    const sections = await checkResponses(api, document);
    const [, created = ""] = codeIn(sections.get("createDataSource") ?? "");
    assert.match(created, /"status": "processing",\s*"columns": null/);
    const [, read = ""] = codeIn(sections.get("getDataSource") ?? "");
    assert.match(read, /"status": "ready",\s*"columns": \[/);
    const [, tested = ""] = codeIn(sections.get("testWebhook") ?? "");
    contains(tested, '"attempts": []');
  },
);

/** The error codes in a part of a page, in its order. */
const errorsIn = (section: string) => groups(section, /href="\/docs\/errors#(\w+)">\1</g);
const BODY_ERRORS = ["payload_too_large", "unsupported_media_type", "validation_failed"] as const;
const REUSED = "idempotency_key_reused";

choice(
  "1.docs: every endpoint lists its errors, and with those of any endpoint all statuses of the OpenAPI document",
  async ({ api, document }) => {
    const sections = await sectionsOf(api);
    const general = firstGroup(
      (await docs(api, "/errors")).text,
      "Any endpoint can return (.*?)</p>",
    );
    const found = new Set(groups(general, /<code>(\w+)<\/code>/g));
    for (const { value } of document.api) {
      const section = sections.get(str(value.operationId)) ?? "";
      for (const code of errorsIn(section)) found.add(code);
      const shown = [...groups(general, /(\d{3})/g), ...groups(section, /(\d{3}) <a/g)];
      const declared = Object.keys(members(value.responses)).filter(
        (status) => Number(status) >= 400,
      );
      assert.deepEqual(
        [...new Set(shown)].filter((status) => status !== "405").sort(),
        declared.sort(),
        str(value.operationId),
      );
    }
    for (const [operation, codes] of Object.entries({
      listApps: [],
      getApp: ["not_found", "precondition_failed"],
      deleteApp: ["not_found", "precondition_failed"],
      updateApp: ["invalid_json", "not_found", "precondition_failed", ...BODY_ERRORS],
      createApp: ["invalid_json", "idempotency_in_progress", ...BODY_ERRORS, REUSED],
      redeliverDelivery: ["not_found", "idempotency_in_progress", "payload_too_large", REUSED],
    }))
      assert.deepEqual(errorsIn(sections.get(operation) ?? ""), codes, operation);
    assert.ok(!sections.get("createApp")?.includes("domain_taken"));
    for (const [code, [status]] of Object.entries(PROBLEMS))
      assert.ok(found.has(code) || (status !== 400 && general.includes(String(status))), code);
  },
);

choice("1.docs: every event has a sample", async ({ api }) => {
  const { text } = await docs(api, "/events");
  for (const type of EVENT_TYPES) {
    const [sample = ""] = codeIn(sectionOf(text, type));
    assert.ok(sample.includes(type) && sample.includes("evt_"), type);
  }
});

/** Runs a command from a page in a shell; returns its output. */
const paste = async (command: string, env: Readonly<Record<string, string>>) =>
  (await promisify(execFile)("sh", ["-c", command], { env: { ...process.env, ...env } })).stdout;

choice("1.docs: the OAuth flow can be pasted into a shell", async ({ api, service }) => {
  // What to keep of the output has a block of its own.
  const commands = codeIn((await docs(api)).text).filter((code) => !/^export .*…$/.test(code));
  assert.ok(commands.every((command) => !command.includes("…")));
  const [first = "", register = "", open = "", exchange = "", use = "", refresh = "", revoke = ""] =
    commands;
  const env: Record<string, string> = { API_KEY: str(service.apiKey), AUTH_URL: service.authUrl };
  const run = async (command: string) => JSON.parse(await paste(command, env));
  assert.equal((await run(first)).title, "My first app");
  const client = await run(register);
  Object.assign(env, { CLIENT_ID: client.id, CLIENT_SECRET: client.client_secret });
  const { browser } = await person(api, ["read:apps"]);
  const page = await browser.open((await paste(open, env)).trim());
  const answer = await browser.submit(page, "/oauth/consent", { decision: "allow" });
  const query = new URL(answer.header("location")).searchParams;
  assert.equal(query.get("state"), "xyz");
  env.CODE = str(query.get("code"));
  const tokens = await run(exchange);
  Object.assign(env, { ACCESS_TOKEN: tokens.access_token, REFRESH_TOKEN: tokens.refresh_token });
  assert.equal((await run(use)).data[0].title, "My first app");
  const refreshed = await run(refresh);
  Object.assign(env, {
    ACCESS_TOKEN: refreshed.access_token,
    REFRESH_TOKEN: refreshed.refresh_token,
  });
  assert.deepEqual(await run(revoke), {});
  assert.equal((await run(use)).code, "invalid_credential");
});

choice("1.docs: the receiver on the page accepts this server's deliveries", async ({ api }) => {
  const blocks = codeIn((await docs(api, "/events")).text);
  const code = blocks.find((block) => block.includes("createServer(")) ?? "";
  const listen = "listen(0, function () { console.log(this.address().port); })";
  const { said, prints, kill } = started(["-e", code.replace("listen(4700)", listen)], {
    WEBHOOK_SECRET: "shown",
  });
  closeLater(kill);
  await prints("\n");
  const url = `http://127.0.0.1:${Number(said.stdout)}/`;
  for (const [secret, status] of Object.entries({ shown: 204, other: 401 })) {
    const webhook = await api.create("/webhooks", { url, events: ["app.created"], secret });
    await api.post(`/webhooks/${webhook.id}/test`, { type: "app.created" });
    assert.equal(attemptsOf(await attempted(api, webhook))[0]?.response_status, status);
  }
});

choice("1.docs: the openssl line on the page prints the signature", async ({ api }) => {
  const blocks = codeIn((await docs(api, "/events")).text);
  const command = blocks.find((block) => block.startsWith("openssl")) ?? "";
  const body = '{"id":"evt_1"}';
  const file = join(freshFolder(), "body.json");
  writeFileSync(file, body);
  const output = await paste(command.replace("body.json", file), { WEBHOOK_SECRET: "shown" });
  const signature = createHmac("sha256", "shown").update(body).digest("hex");
  assert.ok(output.trim().endsWith(` ${signature}`), output);
});

choice("1.docs: the page of events names the waits of the decision", async ({ api }) => {
  const [waits = ""] = /after 5 s.* 24 h/.exec(DECISIONS["6.retry-schedule"]?.choice ?? "") ?? [];
  assert.ok(waits !== "" && textOf(await docs(api, "/events")).includes(waits));
});

choice(
  "1.docs.tour: each request of the tour, pasted into a shell, gets the response shown",
  async ({ api, service }) => {
    const env: Record<string, string> = { API_KEY: str(service.apiKey) };
    for (const page of TOUR) {
      const [request = "", response = ""] = codeIn((await docs(api, page)).text);
      const output = (await paste(request, env)).replaceAll("\r", "");
      shows(output, response);
      env.APP_ID = /app_\w+/.exec(output)?.[0] ?? env.APP_ID ?? "";
    }
  },
);

choice(
  "1.docs.tour: each part of the tour shows all its clauses and decisions",
  async ({ api }) => {
    for (const [index, path] of TOUR.entries()) {
      const page = await docs(api, path);
      const isOfPart = (id: string) => id.startsWith(`${index + 1}.`);
      const clauses = firstGroup(page.text, 'id="what-it-says">([\\s\\S]*?)</ul>');
      assert.deepEqual(
        groups(clauses, /<small>([^<]*)<\/small>/g)
          .flatMap((ids) => ids.split(" "))
          .sort(),
        [...CLAUSES].filter(isOfPart).sort(),
      );
      const text = withoutSpace(textOf(page));
      const decisions = Object.entries(DECISIONS).filter(([id]) => isOfPart(id));
      const ids = groups(page.text, / id="decision-([\w.-]+)"/g);
      assert.deepEqual(
        ids,
        decisions.map(([id]) => id),
      );
      for (const [, decision] of decisions) {
        for (const sentence of Object.values(decision)) contains(text, withoutSpace(sentence));
      }
    }
    const sequence = "Client Service Receiver Client → Service POST /v1/apps";
    contains(textOf(await docs(api, "/tour/6")), sequence);
  },
);

/** Every object in the document, with its path. */
function* objectsIn(value: unknown, at = "#"): Generator<readonly [at: string, value: Members]> {
  if (isMembers(value)) yield [at, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* objectsIn(member, `${at}/${name}`);
}

const isExample = ([, media]: readonly [string, Members]) =>
  isMembers(media.schema) && "example" in media;

choice(
  "1.docs.openapi: the document is valid OpenAPI 3.1 for this version, with valid references and examples",
  async ({ document: { document }, api }) => {
    const answer = await api.anyone.get("/openapi.json");
    assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "application/json"]);
    begins(document.openapi, "3.1.");
    const { version } = members(JSON.parse(readFileSync("package.json", "utf8")));
    assert.equal(members(document.info).version, version);
    const objects = [...objectsIn(document)];
    const references = objects.filter(([, { $ref }]) => typeof $ref === "string");
    assert.ok(references.length > 50);
    for (const [at, { $ref }] of references)
      assert.ok(isMembers(resolve(document, String($ref))), at);
    const examples = objects.filter(isExample);
    assert.ok(examples.length >= 10);
    for (const [at, { example, schema }] of examples)
      assert.deepEqual(breaches(example, members(schema), document), [], at);
    // Not every reader of patterns sets the flag that this escape needs.
    assert.doesNotMatch(JSON.stringify(document), /\\\\[pP]\{/);
  },
);

const SCHEMAS = "#/components/schemas/";
const JSON_BODY = "#/requestBody/content/application~1json/schema";

choice(
  "1.docs.openapi: each operation describes its effect, permissions, parameters, errors and origin",
  async ({ document, baseUrl }) => {
    assert.deepEqual(document.document.servers, [{ url: baseUrl, description: "This server" }]);
    const names = document.operations.map(({ value }) => value.operationId);
    assert.equal(new Set(names).size, names.length);
    for (const { method, path, value } of document.api) {
      const where = `${method} ${path}`;
      assert.notEqual(str(value.summary), "", where);
      assert.match(
        str(value.description),
        /^(Requires the scope [a-z]+(:[a-z]+)?|Any credential will do)\.$/,
      );
      const [clause, decision] = [value["x-spec"], value["x-decision"]];
      if (clause === undefined) assert.ok(String(decision) in DECISIONS, where);
      else assert.deepEqual([CLAUSES.has(String(clause)), decision], [true, undefined], where);
      const pathParameters = parametersIn({ value }, "path").map(
        ({ name, required }) => `${name} ${required}`,
      );
      const expected = groups(path, /\{(\w+)\}/g).map((name) => `${name} true`);
      assert.deepEqual(pathParameters, expected, where);
      const responses = Object.entries(members(value.responses));
      const errors = responses.filter(([status]) => Number(status) >= 400);
      assert.ok(errors.length >= 4, where);
      for (const [status, response] of errors) {
        const { content } = document.deref(members(response));
        assert.deepEqual(Object.keys(members(content)), ["application/problem+json"], status);
      }
    }
  },
);

choice(
  "6.event-objects: all six events are described as webhooks with their contents",
  async ({ document: { document } }) => {
    const references: unknown[] = [];
    const objects = Object.entries(members(document.webhooks)).map(([type, item]) => {
      const { $ref } = resolve(members(members(item).post), JSON_BODY);
      references.push({ $ref });
      const { properties } = resolve(document, str($ref));
      const { type: types, account, data = {} } = members(properties);
      assert.deepEqual(members(types).enum, [type]);
      assert.equal(account === undefined, type === "user.interaction");
      const object = str(resolve(members(data), "#/properties/object").$ref);
      return [type, object.slice(SCHEMAS.length), members(data)["x-decision"]];
    });
    assert.deepEqual(objects, [
      ["app.created", "App", "6.event-objects"],
      ["app.updated", "App", "6.event-objects"],
      ["app.deployed", "DeployedApp", undefined],
      ["app.deleted", "App", "6.event-objects"],
      ["data.processed", "DataSource", "6.event-objects"],
      ["user.interaction", "Interaction", undefined],
    ]);
    assert.deepEqual(resolve(document, `${SCHEMAS}Event`).oneOf, references);
  },
);

/** The parameters that lists have. */
const PATH_PARAMETERS =
  "app_id client_id data_source_id delivery_id deployment_id event_id key_id user_id webhook_id";

choice(
  "1.docs.openapi: names suit generated clients, and constructs that generators fail on are absent",
  async ({ document: { document, api } }) => {
    const parameters = new Set(api.flatMap(({ path }) => groups(path, /\{(\w+)\}/g)));
    assert.equal([...parameters].sort().join(" "), PATH_PARAMETERS);
    for (const { method, value } of api) {
      const { content = {} } = members(value.requestBody ?? {});
      const isPatch = "application/merge-patch+json" in members(content);
      assert.equal(isPatch, method === "PATCH");
    }
    for (const [at, value] of objectsIn(document)) {
      const { responses, type, properties, additionalProperties } = value;
      if (isMembers(responses) && !at.endsWith("/components"))
        for (const status of Object.keys(responses)) assert.match(status, /^[1-5]\d\d$/, at);
      assert.equal(value.allOf, undefined, at);
      if ("const" in value || Array.isArray(value.enum)) assert.equal(typeof type, "string", at);
      if (type === "object") assert.ok(properties ?? additionalProperties !== undefined, at);
    }
  },
);

choice(
  "1.docs.openapi: importers can send the example of every header unchanged",
  async ({ api, document }) => {
    const ids = await makeWorld(api);
    const deletesLast = document.api.toSorted(
      (a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"),
    );
    for (const operation of deletesLast) {
      const { method, path } = operation;
      const parameters = parametersIn(operation, "header");
      const headers = Object.fromEntries(
        parameters.map(({ name, example }) => [str(name), str(example)]),
      );
      const body = exampleBody(document, operation);
      const answer = await api.call(method, fill(path, ids), body, headers);
      assert.ok(answer.status < 300, `${path}: ${answer.text}`);
      for (const { example, schema } of parameters)
        assert.deepEqual(breaches(example, members(schema), document.document), []);
    }
  },
);

choice(
  "9.other-versions: an unknown API version gets 404 with the name of the existing version",
  async ({ api }) => {
    for (const path of ["/v2/apps", "/v2", "/v10/users/x?y=z"])
      contains(problem(await api.root.get(path), "not_found").detail, "/v1");
    for (const path of ["/v1x", "/V1/apps", "/apps"])
      problem(await api.root.get(path), "not_found");
  },
);

choice("9.deprecation: no operation and no response announces an end", async (own) => {
  const { headers } = await own.api.get("/apps");
  assert.deepEqual([headers.deprecation, headers.sunset], [undefined, undefined]);
  for (const { value } of own.document.api) assert.equal(value.deprecated, undefined);
});
