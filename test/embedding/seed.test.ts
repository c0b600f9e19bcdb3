// A seed is validated before it is loaded: misspelt, invalid and duplicate entries are rejected with their path.
import assert from "node:assert/strict";
import { startService } from "../../src/index.ts";
import { choice } from "../support/clauses.ts";
import { freshFile } from "../support/closing.ts";
import { embedded, startRefused } from "../support/embedded.ts";

const source = { id: "ds_1", name: "A", type: "json", data: [] };
const client = { name: "C", redirect_uris: ["com.example.app:/cb"], scopes: ["read:apps"] };
const users = [{ email: "A@example.com" }, { email: "a@EXAMPLE.com" }];
const withKey = (key: string) => ({ api_keys: [{ name: "Key", key }] });
const withApps = (...ids: readonly string[]) => ({ apps: ids.map((id) => ({ id, title: "T" })) });

/** The accounts of a seed, and its error without the common prefix `#/accounts/`. */
const INVALID: readonly (readonly [accounts: readonly object[], error: string])[] = [
  [[withApps("app_1", "app_2", "app_1")], "0/apps/2/id is the same as an earlier one"],
  [[{ data_sources: [source] }, { data_sources: [source] }], "1/data_sources/0/id is the same"],
  [[{ id: "acc_1" }, { id: "acc_1" }], "1/id is the same"],
  [[withKey("secret-1"), withKey("secret-1")], "1/api_keys/0/key is the same"],
  [[{}, withKey("secret-2")], "1/api_keys/0/key is the same"],
  [[{ users }], '0/users/1: {"code":"email_taken"'],
  [
    [withApps("app_1"), { data_sources: [{ ...source, app_id: "app_1" }] }],
    '1/data_sources/0: {"code":"validation_failed","errors":[{"pointer":"#/app_id"',
  ],
  [[{ oauth_clients: [client] }], "0/oauth_clients/0/redirect_uris/0 must be https"],
  [[{ aps: [] }], "0/aps is not a known member"],
  [[{ apps: [{ title: "" }] }], "0/apps/0/title must"],
  [[{ state: "asleep" }], "0/state must be one of"],
  [[withKey("short")], "0/api_keys/0/key must"],
  [[{ webhooks: [{ url: "ftp://x", events: ["app.created"] }] }], "0/webhooks/0/url must"],
  [[{ data_sources: [{ ...source, data: "a" }] }], "0/data_sources/0/data must"],
  [[{ id: "first" }], "0/id must"],
];

choice(
  "1.test-controls.seed",
  "an invalid seed is rejected with the path of its error, without showing a secret",
  async () => {
    for (const [members, error] of INVALID) {
      const accounts = members.map((account) => ({ name: "One", ...account }));
      const options = { seed: { accounts }, apiKey: "secret-2" };
      const message = await startRefused(options, /^The seed is wrong: /);
      assert.ok(message.includes(`#/accounts/${error}`), message);
      assert.doesNotMatch(message, /secret-/);
    }
    // Also if stored data takes precedence, because a reset will need the seed.
    const data = freshFile("kept.json");
    await (await startService({ data })).close();
    await startRefused({ data, seed: { accounts: [] } }, /accounts/);
    await startRefused(
      { seed: freshFile("broken.json", "{ not json") },
      /^seed must be .* JSON object/,
    );
  },
);

/** Returns the first data source of a seed as the API does: "name:type" of its columns, and its rows. */
async function load(seed: string | object) {
  await using service = await embedded({ seed });
  const [{ id, columns } = {}] = (await service.api.get("/data-sources")).items;
  const types = Array.from(columns as Iterable<object>, (each) => Object.values(each).join(":"));
  return [types, (await service.api.get(`/data-sources/${id}/rows`)).items];
}

const ROWS = '[{"n":1.50,"m":1.50},{"n":9007199254740993,"m":2}]';

choice(
  "2.data-reading.exact",
  "numbers of a seed are not rounded, in a file or in an object",
  async () => {
    const seed = { accounts: [{ name: "A", data_sources: [source] }] };
    const file = freshFile("seed.json", JSON.stringify(seed).replace("[]", ROWS));
    const rows = [
      { n: "1.50", m: 1.5 },
      { n: "9007199254740993", m: 2 },
    ];
    assert.deepEqual(await load(file), [["n:string", "m:number"], rows]);
    const data = [{ n: 2 ** 53 }];
    const accounts = [{ name: "A", data_sources: [{ ...source, data }] }];
    assert.deepEqual(await load({ accounts }), [["n:string"], [{ n: "9007199254740992" }]]);
    await startRefused({ seed: freshFile("wrong.json", "[null,1.50]") }, /seed/i);
  },
);

choice(
  "1.test-controls.seed",
  "the pinned key may be listed in the first account, and an email address in each account",
  async () => {
    const accounts = ["secret-1", "secret-2"].map((key, at) => ({
      ...withKey(key),
      name: `Account ${at}`,
      users: [users[at]],
    }));
    await using service = await startService({ seed: { accounts }, apiKey: "secret-1" });
    assert.deepEqual([service.apiKey, service.account.name], ["secret-1", "Account 0"]);
  },
);
