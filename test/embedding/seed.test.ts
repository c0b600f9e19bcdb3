// A seed is checked before anything is planted: what is misspelt or stands twice is refused by its place.
import assert from "node:assert/strict";
import { test } from "node:test";
import { OptionError, type ServiceOptions, startService } from "../../src/index.ts";

const key = (text: string) => ({ name: "Key", key: text });
const app = (id: string) => ({ id, title: "Sales" });
const source = { name: "A", type: "json", data: [] };
const client = { name: "C", redirect_uris: ["https://c.example.com/"], scopes: ["read:apps"] };
const users = [{ email: "A@example.com" }, { email: "a@EXAMPLE.com" }];
const keys = (...texts: readonly string[]) => texts.map((text) => ({ api_keys: [key(text)] }));

for (const [what, accounts, says, options] of [
  [
    "an id that stands twice in one account",
    [{ apps: [app("app_1"), app("app_2"), app("app_1")] }],
    /#\/accounts\/0\/apps\/2\/id is the same id as #\/accounts\/0\/apps\/0\/id/,
  ],
  [
    "an id that stands in two accounts",
    [{ data_sources: [{ ...source, id: "ds_1" }] }, { data_sources: [{ ...source, id: "ds_1" }] }],
    /#\/accounts\/1\/data_sources\/0\/id is the same id as #\/accounts\/0\/data_sources\/0\/id/,
  ],
  [
    "an id of two accounts",
    [{ id: "acc_1" }, { id: "acc_1" }],
    /#\/accounts\/1\/id is the same id as #\/accounts\/0\/id/,
  ],
  [
    "a key that stands twice",
    keys("secret-1", "secret-1"),
    /#\/accounts\/1\/api_keys\/0\/key is the same key as #\/accounts\/0\/api_keys\/0\/key/,
  ],
  [
    "the pinned key in another account than the first",
    keys("secret-1", "secret-2"),
    /#\/accounts\/1\/api_keys holds the key that is pinned/,
    { apiKey: "secret-2" },
  ],
  ["a misspelt member", [{ aps: [] }], /#\/accounts\/0\/aps is not a known member/],
  [
    "an e-mail address that stands twice in one account",
    [{ users }],
    /#\/accounts\/0\/users\/1\/email is the same e-mail address/,
  ],
  [
    "an app_id that is no app of the account",
    [{ apps: [app("app_1")] }, { data_sources: [{ ...source, app_id: "app_1" }] }],
    /#\/accounts\/1\/data_sources\/0\/app_id must be the id of one of the apps/,
  ],
  [
    "a public client's secret",
    [{ oauth_clients: [{ ...client, public: true, client_secret: "secret-1" }] }],
    /#\/accounts\/0\/oauth_clients\/0\/client_secret/,
  ],
] as readonly (readonly [string, readonly object[], RegExp, ServiceOptions?])[])
  test(`seed: ${what} is refused by its place, and no secret is shown`, () => {
    const seed = { accounts: accounts.map((account) => ({ name: "One", ...account })) };
    return assert.rejects(startService({ seed, ...options }), (error: unknown) => {
      assert.ok(error instanceof OptionError, String(error));
      assert.match(error.message, says);
      return !error.message.includes("secret-");
    });
  });

test("seed: the pinned key may stand in the first account, an e-mail address in each", async () => {
  const accounts = keys("secret-1", "secret-2").map((account, at) => ({
    ...account,
    name: `Account ${at}`,
    users: users.slice(at, at + 1),
  }));
  await using service = await startService({ seed: { accounts }, apiKey: "secret-1" });
  assert.deepEqual([service.apiKey, service.account.name], ["secret-1", "Account 0"]);
});
