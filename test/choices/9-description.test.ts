// The service's documentation. /docs explains everything that responses link to. The OpenAPI document (the spec
// has none) is checked against the responses by every other test, and here for consistency. Includes other API versions
// and deprecation (contract, part 9).
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { EVENT_TYPES } from "../../src/domain/model.ts";
import { DECISIONS, GAPS } from "../../src/former-decisions.ts";
import { API } from "../../src/http/api.ts";
import { PROBLEMS } from "../../src/http/problem.ts";
import { decoded } from "../support/browser.ts";
import { choice } from "../support/clauses.ts";
import { Answer, type Client, isMembers, type Members, members, str } from "../support/client.ts";
import { closeLater } from "../support/closing.ts";
import { assertPage, textOf } from "../support/dashboard.ts";
import { wide } from "../support/fields.ts";
import { breaches, resolve } from "../support/json-schema.ts";
import { person } from "../support/oauth.ts";
import { problem } from "../support/problem.ts";
import { shows, started } from "../support/process.ts";
import { CLAUSES } from "../support/sources.ts";
import { attempted, attemptsOf } from "../support/wait.ts";
import { headersIn, sendExamples } from "../support/world.ts";

const PARTS_OF_TOUR = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const TOUR = ["/tour", ...PARTS_OF_TOUR.map((part) => `/tour/${part}`)];
const PAGES = ["", ...TOUR, "/endpoints", "/events", "/errors", "/register"].map(
  (page) => `/docs${page}`,
);

const docs = (api: Client, page = "") => api.root.as(null).get(`/docs${page}`);
const inside = (text: string, pattern: string): string => new RegExp(pattern).exec(text)?.[1] ?? "";

/** The contents of the code blocks. */
const codeIn = (text: string): string[] =>
  [...text.matchAll(/<pre>([\s\S]*?)<\/pre>/g)].map(([, code = ""]) => decoded(code));
const endpointIn = (text: string, operation: string): string =>
  inside(text, `<div (id="${operation}">[\\s\\S]*?)</dd></div>`);

choice(
  "1.dashboard.docs",
  "the docs need no sign-in, are read-only, list their headings and link to further pages",
  async ({ api }) => {
    const root = api.root.as(null);
    const texts = new Map<string, string>();
    for (const path of PAGES) {
      const page = await root.get(path);
      assertPage(page);
      texts.set(path, page.text);
      assert.equal((await root.head(path)).text, "");
      const wrong = await root.post(path, {});
      assert.deepEqual([wrong.status, wrong.header("allow")], [405, "GET, HEAD, OPTIONS"]);
    }
    for (const [path, text] of texts) {
      const side = inside(text, '(<nav class="side"[\\s\\S]*?</nav>)');
      for (const [, id] of text.matchAll(/<(?:h2|div)[^>]* id="([^"]*)"/g))
        assert.ok(side.includes(`"#${id}"`), id);
      for (const href of new Set(
        [...text.matchAll(/href="([^"]*)"/g)].map(([, href]) => str(href)),
      )) {
        const [address = "", anchor] = href.split("#");
        if (anchor !== undefined)
          assert.ok(texts.get(address || path)?.includes(`id="${anchor}"`), href);
        else assert.ok((await root.get(href)).status < 400, href);
      }
    }
  },
);

choice(
  "1.dashboard.docs",
  "the type of every problem links to its entry in the docs",
  async ({ api, authUrl }) => {
    const { text } = await docs(api, "/errors");
    for (const [code, [status, title]] of Object.entries(PROBLEMS)) {
      const own = inside(text, `<div id="${code}">(.*?)</div>`);
      for (const part of [String(status), title.replaceAll("'", "&#39;")])
        assert.ok(own.includes(part), code);
    }
    assert.equal((await api.get("/nothing")).json.type, `${authUrl}/docs/errors#not_found`);
  },
);

choice(
  "1.dashboard.docs",
  "the docs show every endpoint with its scope, rules, a curl line and a response",
  async (own) => {
    const { text } = await docs(own.api, "/endpoints");
    for (const {
      operationId: operation,
      method,
      path,
      scope,
      serializer: view,
      decision: gap,
    } of API.routes) {
      const entry = endpointIn(text, operation);
      const url = own.baseUrl + path.replace(/\{(\w+)\}/g, (_, name) => `$${name.toUpperCase()}`);
      const origin = gap === undefined ? "specification" : `/docs/register#decision-${gap}`;
      const reported = [path, scope ?? "Any credential", url, origin, `class="method ${method}"`];
      for (const part of reported) assert.ok(entry.includes(part), `${operation}: ${part}`);
      const [, shown] = codeIn(entry);
      assert.equal(shown === undefined, view === undefined, operation);
      const headers = { ...(shown !== undefined && { "content-type": "application/json" }) };
      const status = Number(inside(entry, "Answers <code>(\\d+)</code>"));
      const answered = new Answer(status, headers, Buffer.from(shown ?? ""));
      own.document.check(method, `/v1${path.replace(/\{\w+\}/g, "x")}`, answered);
    }
    assert.match(
      endpointIn(text, "createApp"),
      /title<\/code> <strong>required<\/strong> <code class="soft">{&quot;type&quot;:&quot;string&quot;,/,
    );
    assert.match(endpointIn(text, "createDataSource"), /app_id/);
    assert.doesNotMatch(
      text,
      /<\/pre>(?!<button [^>]*data-copy hidden>)/,
      "a button behind each box copies it",
    );
    const { events, secret } = JSON.parse(codeIn(endpointIn(text, "createWebhook"))[1] ?? "");
    assert.deepEqual(
      [events, secret],
      [["app.created", "app.deployed"], "…"],
      "what was sent, and what is shown once",
    );
    const { type, account } = JSON.parse(codeIn(endpointIn(text, "reportInteraction"))[1] ?? "");
    assert.deepEqual([type, account], ["user.interaction", undefined], "the event that it makes");
    const { url } = JSON.parse(codeIn(endpointIn(text, "deployApp"))[1] ?? "");
    assert.match(url, /\/sites\/dep_/, "whatever its custom domain is");
  },
);

choice(
  "1.dashboard.docs",
  "the docs show a sample of every event and every decision, with the specification's gaps first",
  async ({ api }) => {
    const events = await docs(api, "/events");
    for (const type of EVENT_TYPES) {
      const sample = inside(events.text, `<div id="${type}">[\\s\\S]*?<pre>([\\s\\S]*?)</pre>`);
      assert.ok(sample.includes(type) && sample.includes("evt_"), type);
    }
    const register = await docs(api, "/register");
    for (const [id, { open, choice, field, why }] of Object.entries(DECISIONS)) {
      assert.ok(register.text.includes(`id="decision-${id}"`), id);
      for (const said of [open, choice.other, field, why])
        assert.ok(textOf(register).includes(said), said);
    }
    const gaps = inside(register.text, "does not show</h2>([\\s\\S]*?)</dl>").matchAll(
      /id="decision-([^"]+)"/g,
    );
    const shown = [...gaps].map(([, id]) => id);
    assert.deepEqual(shown, Object.keys(GAPS));
  },
);

/** Runs the page's commands in a shell; returns their output. */
const pasted = async (script: string, env: Readonly<Record<string, string>>): Promise<string> =>
  (await promisify(execFile)("sh", ["-c", script], { env: { ...process.env, ...env } })).stdout;

choice(
  "1.dashboard.docs",
  "the docs' complete OAuth flow can be pasted into a shell",
  async ({ api, service }) => {
    const boxes = codeIn((await docs(api)).text).map((code) => code.replace(/^export .*…$/m, ""));
    const [
      first = "",
      register = "",
      open = "",
      exchange = "",
      use = "",
      refresh = "",
      ask = "",
      revoke = "",
    ] = boxes;
    const env: Record<string, string> = { API_KEY: str(service.apiKey) };
    const json = async (script: string, more: Record<string, string> = {}) =>
      JSON.parse(await pasted(script, { ...env, ...more }));
    assert.equal((await json(first)).title, "My first app");
    const client = await json(register);
    Object.assign(env, { CLIENT_ID: client.id, CLIENT_SECRET: client.client_secret });
    const { browser } = await person(api, ["read:apps"]);
    const asked = await browser.open((await pasted(open, env)).trim());
    const back = new URL(
      (await browser.submit(asked, "/oauth/consent", { decision: "allow" })).header("location"),
    );
    assert.equal(back.searchParams.get("state"), "xyz");
    const tokens = await json(exchange, { CODE: str(back.searchParams.get("code")) });
    assert.equal(
      (await json(use, { ACCESS_TOKEN: tokens.access_token })).data[0].title,
      "My first app",
    );
    const again = await json(refresh, { REFRESH_TOKEN: tokens.refresh_token });
    assert.equal(again.token_type, "Bearer");
    Object.assign(env, { ACCESS_TOKEN: again.access_token, REFRESH_TOKEN: again.refresh_token });
    assert.equal((await json(ask)).active, true);
    assert.deepEqual(await json(revoke), {});
    assert.equal((await json(ask)).active, false);
  },
);

/** Runs the receiver that the page shows; returns its URL. */
async function shownReceiver(api: Client, secret: string): Promise<string> {
  const code =
    codeIn((await docs(api, "/events")).text).find((each) => each.includes("createServer(")) ?? "";
  const open = code.replace(
    "listen(4700)",
    "listen(0, function () { console.log(this.address().port); })",
  );
  assert.notEqual(open, code);
  const { said, prints, kill } = started(["-e", open], { WEBHOOK_SECRET: secret });
  closeLater(kill);
  await prints("\n");
  return `http://127.0.0.1:${Number(said.stdout)}/`;
}

choice(
  "1.dashboard.docs",
  "the receiver in the docs accepts this server's deliveries",
  async ({ api }) => {
    const url = await shownReceiver(api, "shown");
    for (const [secret, status] of Object.entries({ shown: 204, other: 401 })) {
      const webhook = await api.create("/webhooks", { url, events: ["app.created"], secret });
      await api.post(`/webhooks/${webhook.id}/test`, { type: "app.created" });
      assert.equal(attemptsOf(await attempted(api, webhook))[0]?.response_status, status);
    }
  },
);

choice(
  "1.dashboard.docs",
  "the docs show the retry delays in force",
  { retrySchedule: "90s,2h,5ms" },
  async ({ api }) => {
    assert.match(
      textOf(await docs(api, "/events")),
      /tried again, after 90 s, 2 h, 5 ms, each 20 %/,
    );
  },
);

choice(
  "1.dashboard.tour",
  "each request of the tour, pasted into a shell, gets the response shown",
  async ({ api, service }) => {
    const env: Record<string, string> = { API_KEY: str(service.apiKey) };
    for (const part of PARTS_OF_TOUR) {
      const [request = "", answer = ""] = codeIn((await docs(api, `/tour/${part}`)).text);
      const printed = (await pasted(request, env)).replaceAll("\r", "");
      shows(printed, answer);
      env.APP_ID = /app_\w+/.exec(printed)?.[0] ?? env.APP_ID ?? "";
    }
  },
);

choice(
  "1.dashboard.tour",
  "each part of the tour names all its clauses and every gap",
  async ({ api }) => {
    for (const part of PARTS_OF_TOUR) {
      const page = await docs(api, `/tour/${part}`);
      const own = (ids: Iterable<string>) =>
        [...ids].filter((id) => id.startsWith(`${part}.`)).sort();
      const named = [
        ...inside(page.text, 'id="says">([\\s\\S]*?)</dl>').matchAll(/<code>([^<]*)<\/code>/g),
      ];
      assert.deepEqual(named.map(([, id]) => id).sort(), own(CLAUSES));
      const open = own(Object.keys(DECISIONS));
      assert.deepEqual(
        [...page.text.matchAll(/ id="decision-([\w.-]+)"/g)].map(([, id]) => id).sort(),
        open,
      );
      for (const [id, { choice, field }] of Object.entries(DECISIONS).filter(([id]) =>
        open.includes(id),
      ))
        for (const said of [choice.other, field])
          assert.ok(textOf(page).includes(said), `${id}: ${said}`);
    }
  },
);

choice("1.dashboard.tour", "the tour describes its pictures in words as well", async ({ api }) => {
  for (const [part, words] of [
    [
      5,
      ["Client → Authorization server: POST /oauth/token", "the client compares the state first"],
    ],
    [6, ["Service → Receiver: the same bytes: attempt 2", "when and how often is our choice"]],
  ] as const) {
    const page = await docs(api, `/tour/${part}`);
    assert.match(page.text, /<svg class="sequence" role="img" aria-label="[^"]+"/);
    for (const said of words) assert.ok(textOf(page).includes(said), said);
  }
});

/** Every object in the document, with its path. */
function* objectsIn(value: unknown, at = "#"): Generator<readonly [at: string, value: Members]> {
  if (isMembers(value)) yield [at, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* objectsIn(member, `${at}/${name}`);
}

choice(
  "9.deprecation.openapi",
  "the document is valid OpenAPI 3.1 for this version, with valid references and examples",
  async (own) => {
    const { document } = own.document;
    const answer = await own.api.root.as(null).get("/openapi.json");
    assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "application/json"]);
    assert.match(String(document.openapi), /^3\.1\./);
    const { version } = members(JSON.parse(readFileSync("package.json", "utf8")));
    assert.equal(members(document.info).version, version);
    const references = [...objectsIn(document)].filter(([, { $ref }]) => typeof $ref === "string");
    for (const [at, { $ref }] of references)
      assert.ok(isMembers(resolve(document, String($ref))), at);
    assert.ok(references.length > 50);
    assert.doesNotMatch(
      JSON.stringify(document),
      /\\\\[pP]\{/,
      "not every reader of patterns sets the flag for it",
    );
    const examples = [...objectsIn(document)].filter(
      ([, media]) => isMembers(media.schema) && "example" in media,
    );
    for (const [at, { example, schema }] of examples)
      assert.deepEqual(breaches(example, members(schema), document), [], at);
    assert.ok(examples.length >= 10, `${examples.length} examples`);
  },
);

choice(
  "9.deprecation.openapi",
  "the document places the bounds of request values where they apply",
  async ({ api, document }) => {
    const app = await api.create("/apps", { title: "T" });
    const row = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, at]));
    const source = (count: number) => ({ name: "N", type: "json", data: [row(count)] });
    const user = (local: string) => ({ email: `${local}@bounds.example.com` });
    const deploy = (custom_domain: string) => ({ name: "R", custom_domain });
    for (const [path, good, bad] of [
      ["/data-sources", source(100), source(101)],
      ["/users", user(wide(64)), user(wide(65))],
      ["/users", user("a\u00adb"), user("a\u0085b")],
      [`/apps/${app.id}/deploy`, deploy("bücher.example"), deploy("bücher/example")],
    ] as const) {
      const { content } = members(document.find("POST", `/v1${path}`)?.value.requestBody);
      const { schema } = members(members(content)["application/json"]);
      for (const [body, status] of [
        [good, 201],
        [bad, 422],
      ] as const) {
        assert.equal(
          breaches(body, members(schema), document.document).length > 0,
          status === 422,
          path,
        );
        assert.equal((await api.post(path, body)).status, status, path);
      }
    }
    const [, offset] = [document.find("GET", "/v1/apps")?.value.parameters].flat();
    const { maximum } = members(members(offset).schema);
    assert.equal((await api.get(`/apps?offset=${maximum}`)).status, 200);
    assert.equal((await api.get(`/apps?offset=${Number(maximum) + 1}`)).status, 400);
  },
);

choice(
  "9.deprecation.linters",
  "each operation describes its effect, its permissions and its origin",
  async ({ document }) => {
    const { info, tags } = document.document;
    assert.match(str(members(members(info).contact).url), /\/docs$/);
    const reported = new Map(
      [tags].flat().map((tag) => [members(tag).name, members(tag).description]),
    );
    const names = document.operations.map(({ value }) => value.operationId);
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.length > 30);
    for (const { method, path, value } of document.api) {
      const where = `${method} ${path}`;
      assert.ok(typeof value.summary === "string" && value.summary !== "", where);
      assert.match(
        str(value.description),
        /^(Takes the scope [a-z]+(:[a-z]+)?|Any credential will do)\.$/,
      );
      for (const name of [value.tags].flat()) str(reported.get(name));
      const [clause, decision] = [value["x-spec"], value["x-decision"]];
      assert.ok((clause === undefined) !== (decision === undefined), where);
      assert.ok(
        clause === undefined ? String(decision) in DECISIONS : CLAUSES.has(String(clause)),
        where,
      );
      const security = value.security ?? document.document.security;
      assert.ok(Array.isArray(security) && security.length > 0, where);
      const declared = [value.parameters ?? []].flat().map((each) => document.deref(members(each)));
      const inPath = declared
        .filter((each) => each.in === "path")
        .map(({ name, required }) => `${name} ${required}`);
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `${name} true`);
      assert.deepEqual(inPath.sort(), named.sort(), where);
      const responses = members(value.responses);
      for (const status of ["401", "403", "500", "501", "503"])
        assert.ok(status in responses, `${where} ${status}`);
      for (const [status, response] of Object.entries(responses).filter(
        ([each]) => Number(each) >= 400,
      )) {
        const { content } = document.deref(members(response));
        assert.deepEqual(
          Object.keys(members(content)),
          ["application/problem+json"],
          `${where} ${status}`,
        );
      }
    }
    const components = JSON.stringify(document.document.components);
    const errors =
      '["dns","refused","reset","tls","timeout","blocked_address","aborted","dropped","status"]';
    assert.ok(components.includes(`"enum":${errors}`), "why an attempt failed");
    assert.ok(
      components.includes('"enum":["string","number","boolean","datetime"]'),
      "what a column holds",
    );
  },
);

choice(
  "6.event-objects",
  "all six events are described as webhooks with their contents",
  async (own) => {
    const { document } = own.document;
    const holds = Object.entries(members(document.webhooks)).map(([type, item]) => {
      const { requestBody } = members(members(item).post);
      const { $ref } = members(
        members(members(members(requestBody).content)["application/json"]).schema,
      );
      const { properties } = resolve(document, str($ref));
      const { type: only, data, account } = members(properties);
      const object = members(members(members(data).properties).object);
      const isChosen = members(data)["x-decision"] === "6.event-objects";
      return [type, $ref, members(only).enum, object.$ref, isChosen, account !== undefined].join(
        " ",
      );
    });
    const at = "#/components/schemas/";
    assert.deepEqual(holds, [
      `app.created ${at}AppCreatedEvent app.created ${at}App true true`,
      `app.updated ${at}AppUpdatedEvent app.updated ${at}App true true`,
      `app.deployed ${at}AppDeployedEvent app.deployed ${at}DeployedApp false true`,
      `app.deleted ${at}AppDeletedEvent app.deleted ${at}App true true`,
      `data.processed ${at}DataProcessedEvent data.processed ${at}DataSource true true`,
      `user.interaction ${at}UserInteractionEvent user.interaction ${at}Interaction false false`,
    ]);
    const { oneOf, discriminator } = resolve(document, `${at}Event`);
    const { propertyName, mapping } = members(discriminator);
    assert.equal(propertyName, "type");
    assert.deepEqual(Object.keys(members(mapping)), EVENT_TYPES);
    assert.deepEqual(
      [oneOf].flat().map((each) => members(each).$ref),
      Object.values(members(mapping)),
    );
  },
);

choice(
  "9.deprecation.openapi",
  "a request body has a name, and a PATCH accepts merge patches as well",
  async (own) => {
    const bodies = own.document.api.flatMap(({ method, value }) => {
      if (value.requestBody === undefined) return [];
      const content = members(members(value.requestBody).content);
      const json = "application/json";
      const types = method === "PATCH" ? [json, "application/merge-patch+json"] : [json];
      assert.deepEqual(Object.keys(content), types);
      return [...new Set(types.map((type) => str(members(members(content[type]).schema).$ref)))];
    });
    const at = "#/components/schemas/";
    assert.deepEqual(
      bodies.map((name) => name.replace(at, "")),
      [
        ...["AppCreate", "AppUpdate", "DeploymentCreate", "InteractionCreate", "DataSourceCreate"],
        ...["WebhookCreate", "WebhookUpdate", "TestDeliveryCreate", "UserCreate", "UserUpdate"],
        ...["ApiKeyCreate", "OAuthClientCreate"],
      ],
    );
    const { schemas } = members(own.document.document.components);
    const created = Object.keys(members(schemas)).filter((name) => /^(New|Created)/.test(name));
    assert.deepEqual(created, [
      "CreatedWebhook",
      "CreatedUser",
      "CreatedApiKey",
      "CreatedOAuthClient",
    ]);
  },
);

/** The parameters of the contract's part 4. */
const PATH_PARAMETERS =
  "app_id client_id data_source_id delivery_id deployment_id event_id key_id user_id webhook_id".split(
    " ",
  );

choice(
  "9.deprecation.openapi",
  "the document avoids the constructs that generators are known to fail on",
  async (own) => {
    const { document, api } = own.document;
    const names = api.map(({ value }) => str(value.operationId));
    for (const name of names)
      assert.match(name, /^[a-z]+([A-Z]+[a-z]*)+$/, "a verb and what it is done to");
    assert.ok(names.includes("listDataSourceRows") && names.includes("redeliverDelivery"));
    const parameters = new Set(
      api.flatMap(({ path }) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)),
    );
    assert.deepEqual([...parameters].sort(), PATH_PARAMETERS);
    for (const [
      at,
      {
        responses,
        servers,
        allOf,
        const: only,
        enum: words,
        type,
        properties,
        additionalProperties,
      },
    ] of [...objectsIn(document)]) {
      if (isMembers(responses) && !at.endsWith("/components"))
        for (const status of Object.keys(responses)) assert.match(status, /^[1-5]\d\d$/, at);
      assert.ok(at === "#" || servers === undefined, `${at} has no servers of its own`);
      assert.equal(allOf, undefined, `${at}: closed objects cannot be merged`);
      if (only !== undefined || Array.isArray(words))
        assert.equal(typeof type, "string", `${at} names its type`);
      if (type === "object")
        assert.ok(properties !== undefined || additionalProperties !== undefined, `${at} is typed`);
    }
    for (const name of Object.keys(members(members(document.components).schemas)))
      assert.match(name, /^[A-Z]\w+$/);
  },
);

choice(
  "9.deprecation.openapi",
  "importers can send the example of every header unchanged",
  async (own) => {
    const { api, document } = own;
    const keys = new Set<unknown>();
    let sent = 0;
    await sendExamples(document, api, (operation, answer) => {
      const what = `${operation.method} ${operation.path}`;
      assert.ok(answer.status < 300, `${what}: ${answer.text}`);
      for (const { name, example, required, schema } of headersIn(operation)) {
        sent += 1;
        assert.equal(required, false);
        assert.deepEqual(breaches(example, members(schema), document.document), []);
        if (name === "Idempotency-Key")
          assert.ok(!keys.has(example) && keys.add(example), `${what}: another's key`);
        else assert.equal(members(schema).default, example, "Postman sends only defaults");
      }
    });
    assert.ok(sent > 40, `${sent} headers`);
  },
);

choice(
  "9.deprecation.openapi",
  "scopes and the rate limit headers are described in words",
  async (own) => {
    const { components, servers } = own.document.document;
    const { securitySchemes, headers, responses } = members(components);
    const { scopes } = members(
      members(members(members(securitySchemes).oauth).flows).authorizationCode,
    );
    for (const [scope, meaning] of Object.entries(members(scopes))) {
      assert.match(str(meaning), /^[A-Z][a-z]+,? .*[a-z]$/);
      assert.ok(!str(meaning).includes(scope));
    }
    assert.equal(members(scopes)["read:apps"], "Read access to apps and their deployments");
    assert.deepEqual(
      [servers].flat().map((each) => members(each).url),
      [own.baseUrl],
    );
    for (const name of ["RateLimit", "RateLimit-Policy", "Retry-After"])
      assert.match(str(members(members(headers)[name]).description), /rate/);
    const of = (status: number) =>
      Object.keys(members(members(members(responses)[`Problem${status}`]).headers));
    assert.deepEqual(of(403), [
      "X-Request-Id",
      "WWW-Authenticate",
      "Retry-After",
      "RateLimit-Policy",
      "RateLimit",
    ]);
    assert.deepEqual(of(401), ["X-Request-Id", "WWW-Authenticate"]);
  },
);

choice(
  "9.other-versions",
  "an unknown API version gets 404 with the name of the existing version",
  async ({ api }) => {
    for (const path of ["/v2/apps", "/v2", "/v0/apps", "/v10/", "/v2/v1/apps"])
      assert.match(String(problem(await api.root.get(path), "not_found").detail), /\/v1/, path);
    for (const path of ["/v1x", "/V1/apps", "/apps", "/v1.0/apps", "/v", "/api/v1/apps"])
      problem(await api.root.get(path), "not_found");
    assert.equal((await api.root.send("PUT", "/v2/apps")).status, 404);
  },
);
