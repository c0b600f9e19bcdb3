// A seed is checked before anything is planted: what is misspelt or stands twice is refused by its place.
import assert from "node:assert/strict";
import { test } from "node:test";
import { OptionError, startService } from "../../src/index.ts";

const refused = (seed: object, says: RegExp, options: object = {}) =>
  assert.rejects(startService({ seed, ...options }), (error: unknown) => {
    assert.ok(error instanceof OptionError, String(error));
    assert.match(error.message, says);
    return true;
  });

const app = (id: string) => ({ id, title: "Sales" });
const key = (text: string) => ({ name: "Key", key: text });

test("seed: an id that stands twice in one account is refused by its place", () =>
  refused(
    { accounts: [{ name: "One", apps: [app("app_1"), app("app_2"), app("app_1")] }] },
    /#\/accounts\/0\/apps\/2\/id is the same id as #\/accounts\/0\/apps\/0\/id/,
  ));

test("seed: an id that stands in two accounts is refused", () =>
  refused(
    {
      accounts: [
        { name: "One", data_sources: [{ id: "ds_1", name: "A", type: "json", data: [] }] },
        { name: "Two", data_sources: [{ id: "ds_1", name: "B", type: "json", data: [] }] },
      ],
    },
    /#\/accounts\/1\/data_sources\/0\/id is the same id as #\/accounts\/0\/data_sources\/0\/id/,
  ));

test("seed: two accounts cannot have one id", () =>
  refused(
    {
      accounts: [
        { id: "acc_1", name: "One" },
        { id: "acc_1", name: "Two" },
      ],
    },
    /#\/accounts\/1\/id is the same id as #\/accounts\/0\/id/,
  ));

test("seed: a key that stands twice is refused without being shown", async () => {
  const accounts = [
    { name: "One", api_keys: [key("secret-1")] },
    { name: "Two", api_keys: [key("secret-1")] },
  ];
  await refused({ accounts }, /#\/accounts\/1\/api_keys\/0\/key is the same key as #\/accounts\/0\/api_keys\/0\/key/);
  await assert.rejects(startService({ seed: { accounts } }), (error: Error) => !error.message.includes("secret-1"));
});

test("seed: the pinned key may stand in the first account and in no other", async () => {
  const accounts = [
    { name: "One", api_keys: [key("secret-1")] },
    { name: "Two", api_keys: [key("secret-2")] },
  ];
  await refused({ accounts }, /#\/accounts\/1\/api_keys holds the key that is pinned/, { apiKey: "secret-2" });
  await using service = await startService({ seed: { accounts }, apiKey: "secret-1" });
  assert.equal(service.apiKey, "secret-1");
});

test("seed: a misspelt member is refused by name", () =>
  refused({ accounts: [{ name: "One", aps: [] }] }, /#\/accounts\/0\/aps is not a known member/));

test("seed: an e-mail address that stands twice in one account is refused by its place", async () => {
  const users = [{ email: "A@example.com" }, { email: "a@EXAMPLE.com" }];
  await refused({ accounts: [{ name: "One", users }] }, /#\/accounts\/0\/users\/1\/email is the same e-mail address/);
  const accounts = users.map((user, at) => ({ name: `Account ${at}`, users: [user] }));
  await using service = await startService({ seed: { accounts } });
  assert.equal(service.account.name, "Account 0");
});

test("seed: an app_id that is no app of the account is refused by its place", () => {
  const source = { name: "A", type: "json", data: [], app_id: "app_1" };
  const accounts = [
    { name: "One", apps: [app("app_1")] },
    { name: "Two", data_sources: [source] },
  ];
  return refused({ accounts }, /#\/accounts\/1\/data_sources\/0\/app_id must be the id of one of the apps/);
});

test("seed: a public client has no secret", () => {
  const client = { name: "C", redirect_uris: ["https://c.example.com/"], scopes: ["read:apps"] };
  const seeded = { ...client, public: true, client_secret: "secret-1" };
  return refused(
    { accounts: [{ name: "One", oauth_clients: [seeded] }] },
    /#\/accounts\/0\/oauth_clients\/0\/client_secret/,
  );
});
