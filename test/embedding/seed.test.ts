// A seed is validated before it is loaded: misspelt, invalid and duplicate entries are rejected with their path.
import assert from "node:assert/strict";
import { type ServiceOptions, startService } from "../../src/index.ts";
import { choice } from "../support/clauses.ts";
import { freshFile } from "../support/closing.ts";
import { embedded, startRefused } from "../support/embedded.ts";

const app = (id: string) => ({ id, title: "Sales" });
const source = { id: "ds_1", name: "A", type: "json", data: [] };
const client = { name: "C", redirect_uris: ["https://c.example.com/"], scopes: ["read:apps"] };
const users = [{ email: "A@example.com" }, { email: "a@EXAMPLE.com" }];
const keys = (...texts: readonly string[]) =>
  texts.map((key) => ({ api_keys: [{ name: "Key", key }] }));
const SECOND: ServiceOptions = { apiKey: "secret-2" };

const WRONG: readonly (readonly [
  accounts: readonly object[],
  message: RegExp,
  options?: ServiceOptions,
])[] = [
  [
    [{ apps: [app("app_1"), app("app_2"), app("app_1")] }],
    /#\/accounts\/0\/apps\/2\/id is the same id as .*apps\/0\/id/,
  ],
  [
    [{ data_sources: [source] }, { data_sources: [source] }],
    /#\/accounts\/1\/data_sources\/0\/id is the same id as #\/accounts\/0\/data_sources\/0\/id/,
  ],
  [[{ id: "acc_1" }, { id: "acc_1" }], /#\/accounts\/1\/id is the same id as #\/accounts\/0\/id/],
  [
    keys("secret-1", "secret-1"),
    /#\/accounts\/1\/api_keys\/0\/key is the same key as #\/accounts\/0\/api_keys\/0\/key/,
  ],
  [keys("secret-1", "secret-2"), /#\/accounts\/1\/api_keys holds the key that is pinned/, SECOND],
  [[{ users }], /#\/accounts\/0\/users\/1\/email is the same e-mail address/],
  [
    [{ apps: [app("app_1")] }, { data_sources: [{ ...source, app_id: "app_1" }] }],
    /#\/accounts\/1\/data_sources\/0\/app_id must be the id of one of the apps/,
  ],
  [
    [{ oauth_clients: [{ ...client, public: true, client_secret: "secret-1" }] }],
    /oauth_clients\/0\/client_secret/,
  ],
  [
    [{ oauth_clients: [{ ...client, redirect_uris: ["com.example.app:/cb"] }] }],
    /oauth_clients\/0\/redirect_uris\/0 must be https.*for public clients only/,
  ],
  [[{ aps: [] }], /#\/accounts\/0\/aps is not a known member/],
  [[{ apps: new Array(1) }], /#\/accounts\/0\/apps\/0 must be an object/],
  [[{ apps: [{ title: "" }] }], /apps\/0\/title/],
  [[{ state: "asleep" }], /state must be one of/],
  [[{ api_keys: [{ name: "k", key: "short" }] }], /api_keys\/0\/key/],
  [[{ webhooks: [{ url: "ftp://x", events: ["app.created"] }] }], /webhooks\/0\/url/],
  [[{ data_sources: [{ name: "N", type: "xml", data: "" }] }], /data_sources\/0\/type/],
  [[{ id: "first" }], /#\/accounts\/0\/id/],
  [[], /accounts/],
];

choice(
  "1.test-controls.seed",
  "an invalid seed is rejected with the path of its error, without showing a secret",
  async () => {
    for (const [members, message, options] of WRONG) {
      const accounts = members.map((account) => ({ name: "One", ...account }));
      assert.doesNotMatch(
        await startRefused({ seed: { accounts }, ...options }, message),
        /secret-/,
      );
    }
    // Also if stored data takes precedence, because a reset will need the seed.
    const data = freshFile("kept.json");
    await (await startService({ data })).close();
    await startRefused({ data, seed: { accounts: [] } }, /accounts/);
    await startRefused({ seed: { acounts: [] } }, /acounts/);
    await startRefused({ seed: [] }, /seed/i);
    await startRefused({ seed: freshFile("broken.json", "{ not json") }, /broken\.json/);
  },
);

/** The first account's data sources, each with its rows as the API returns them. */
async function listSources(seed: string | object) {
  await using own = await embedded({ seed });
  const { items } = await own.api.get("/data-sources");
  const rows = await Promise.all(items.map(({ id }) => own.api.get(`/data-sources/${id}/rows`)));
  return items.map(
    ({ columns }, at) => `${JSON.stringify(columns)} ${JSON.stringify(rows[at]?.json.data)}`,
  );
}

choice(
  "2.data-reading.exact",
  "numbers of a seed are not rounded, in a file or in an object",
  async () => {
    const rows = '[{"n":1.50,"m":1.50},{"n":9007199254740993,"m":2}]';
    const source = `{"name":"N","type":"json","data":${rows}}`;
    const text = `{"accounts":[{"name":"A","data_sources":[${source}]},{"name":"B"}]}`;
    const columns = '[{"name":"n","type":"string"},{"name":"m","type":"number"}]';
    const read = `${columns} [{"n":"1.50","m":1.5},{"n":"9007199254740993","m":2}]`;
    assert.deepEqual(await listSources(freshFile("seed.json", text)), [read]);
    const data = [{ n: 1.5 }, { n: 2 ** 53 }];
    const outOfRange = '[{"name":"n","type":"string"}] [{"n":"1.5"},{"n":"9007199254740992"}]';
    const accounts = [{ name: "A", data_sources: [{ name: "N", type: "json", data }] }];
    assert.deepEqual(await listSources({ accounts }), [outOfRange]);
    const invalid = [
      text.replace('"A"', "1.50"),
      '{"accounts":1.50}',
      "[1.50]",
      '{"accounts":[null,1.50]}',
    ];
    for (const wrong of invalid)
      await startRefused({ seed: freshFile("wrong.json", wrong) }, /seed/i);
  },
);

choice(
  "1.test-controls.seed",
  "the pinned key may be listed in the first account, and an email address in each account",
  async () => {
    const both = keys("secret-1", "secret-2");
    const accounts = both.map((account, at) => ({
      ...account,
      name: `Account ${at}`,
      users: [users[at]],
    }));
    await using service = await startService({ seed: { accounts }, apiKey: "secret-1" });
    assert.deepEqual([service.apiKey, service.account.name], ["secret-1", "Account 0"]);
  },
);
