// Variants. Each changes only its own behavior, and only for its own service. With all of them
// enabled, a client's usual calls work and each response matches the OpenAPI document.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL_VARIANTS } from "../../src/index.ts";
import {
  type Answer,
  Client,
  contains,
  described,
  type Embedded,
  embedded,
  served,
  serving,
  startRefused,
} from "../support/index.ts";

const APP = { title: "T", description: "", theme: "light", public: false };
const POINT = { user_id: "u", interaction_type: "click", data_point: { x: 1, z: 1 } };
const SOURCE = { name: "S", type: "json", data: [], rows: 1 };

const isOk = ({ status }: Answer) => status < 400;

type Check = readonly [
  observe: (own: Embedded) => Promise<unknown>,
  byDefault: unknown,
  withVariant: unknown,
];

const CHECKS: { readonly [N in keyof typeof ALL_VARIANTS]: Check } = {
  "list-shape": [
    async ({ api }) => {
      const { value, headers } = await api.get("/apps");
      return [Array.isArray(value), "x-total-count" in headers];
    },
    [false, false],
    [true, true],
  ],
  "create-status": [async ({ api }) => (await api.post("/apps", APP)).status, 201, 200],
  "delete-response": [
    async ({ api }) => {
      const { id } = await api.post("/apps", APP);
      const { status, text, headers } = await api.delete(`/apps/${id}`);
      return [status, headers["content-type"], text !== "" && JSON.parse(text).id === id];
    },
    [204, undefined, false],
    [200, "application/json", true],
  ],
  "error-body": [
    async ({ api }) => {
      const { headers, json } = await api.get("/apps/none");
      return [headers["content-type"], Object.keys(json), json.error];
    },
    [
      "application/problem+json",
      ["type", "title", "status", "detail", "instance", "code"],
      undefined,
    ],
    ["application/json", ["error"], { code: "not_found", message: "There is no such app." }],
  ],
  "validation-status": [
    async ({ api }) => {
      const { status, json, text } = await api.post("/apps", { ...APP, title: "" });
      return [status, json.status ?? status, text.includes("validation_failed")];
    },
    [422, 422, true],
    [400, 400, true],
  ],
  "rate-headers": [
    async ({ api }) =>
      Object.keys((await api.get("/none")).headers).filter((name) => name.includes("ratelimit")),
    ["ratelimit-policy", "ratelimit"],
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
  ],
  "max-limit": [
    async ({ api }) => {
      const { headers } = await api.get(`/apps?limit=${"9".repeat(20)}&offset=1`);
      const zero = await api.get("/apps?limit=0");
      return [headers.link?.includes("limit=100&"), zero.status];
    },
    [undefined, 400],
    [true, 400],
  ],
  "unknown-members": [
    async ({ api }) => {
      const { id } = await api.post("/apps", APP);
      const answers = [
        await api.post("/apps", { ...APP, more: 1, id: "mine" }),
        await api.patch(`/apps/${id}`, { more: 1 }),
        await api.post(`/apps/${id}/interactions`, POINT),
        await api.post("/data-sources", SOURCE),
        await api.get("/apps?more=1&more=2&toString=1"),
        await api.get("/account?more=1"),
      ];
      return answers.map((answer) => isOk(answer) && !/"(more|z|rows|mine)"/.test(answer.text));
    },
    Array(6).fill(false),
    Array(6).fill(true),
  ],
};

const checks = Object.entries(CHECKS);

for (const [name, value] of Object.entries(ALL_VARIANTS))
  test(`${name}=${value} changes only its own behavior, and only in the service that selects it`, async () => {
    await using plain = await embedded();
    await using other = await embedded({ variants: { [name]: value } });
    for (const [each, [observe, byDefault, withVariant]] of checks) {
      assert.deepEqual(await observe(other), each === name ? withVariant : byDefault, each);
      if (each === name) assert.deepEqual(await observe(plain), byDefault);
    }
  });

test("all variants can be enabled together, and every response matches the OpenAPI document", async () => {
  await using all = await described({ variants: ALL_VARIANTS });
  for (const [name, [observe, , withVariant]] of checks)
    assert.deepEqual(await observe(all), withVariant, name);
});

served(
  "variants apply to every error under /v1, and to nothing else",
  { variants: ALL_VARIANTS, control: true },
  async ({ api }) => {
    for (const [status, answer] of [
      [414, await api.get(`/apps?${"x".repeat(9_000)}`)],
      [401, await api.as("nobody").get("/apps")],
    ] as const)
      assert.deepEqual([answer.status, Object.keys(answer.json)], [status, ["error"]]);
    const token = await api.anyone.post("/oauth/token", { grant_type: "none", more: 1 });
    assert.deepEqual([token.status, token.json.error], [400, "unsupported_grant_type"]);
    const control = await api.root.post("/_control/clock", { advance: "soon" });
    assert.equal(control.headers["content-type"], "application/problem+json");
  },
);

test("the OpenAPI document follows the variants that change requests", async () => {
  const describe = async (variants = {}) => {
    await using own = await embedded({ variants });
    const { paths, components } = (await own.api.anyone.get("/openapi.json")).json;
    const { "/apps": apps, "/apps/{app_id}": app } = Object(paths);
    const { additionalProperties } = Object(components).schemas.AppCreate;
    const { maximum } = apps.get.parameters[0].schema;
    return [additionalProperties, maximum, "422" in app.patch.responses];
  };
  assert.deepEqual(await describe(), [false, 100, true]);
  assert.deepEqual(await describe(ALL_VARIANTS), [true, undefined, false]);
});

test("a seed ignores the variants: an unknown member is rejected", async () => {
  const seed = { accounts: [{ name: "A", apps: [{ title: "Seeded", more: 1 }] }] };
  await startRefused({ variants: ALL_VARIANTS, seed }, "…more");
});

test("an unknown variant is rejected in one line that names the valid ones", async () => {
  for (const variants of [{ "list-shap": "bare" }, { "create-status": 201 }, "list-shape=bare,"]) {
    const line = await startRefused({ variants }, "variants must be");
    for (const pair of Object.entries(ALL_VARIANTS)) contains(line, pair.join("="));
  }
});

test("--variant can be repeated, and APPHOST_VARIANT separates variants by commas", async () => {
  const variants = ["list-shape=bare", "create-status=200"];
  const check = async ({ said: { stdout } }: { said: { stdout: string } }) => {
    const [, baseUrl = "", key = ""] = /curl (\S+)\/apps .*Bearer (\S+)"/.exec(stdout) ?? [];
    const api = new Client({ baseUrl, key });
    (await api.post("/apps", APP)).is(200);
    assert.ok(Array.isArray((await api.get("/apps")).value));
  };
  await serving(
    variants.flatMap((each) => ["--variant", each]),
    "'\n",
    check,
  );
  await serving([], "'\n", check, { APPHOST_VARIANT: variants.join() });
});
