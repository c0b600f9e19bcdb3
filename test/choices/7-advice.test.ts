// What a refusal says to the person who reads it: the cause by its name, and what to do about it.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Answer, type Client, str } from "../support/client.ts";
import { embedded } from "../support/embedded.ts";

const OWN = { needs: "embedded" } as const;

const detailOf = ({ json }: Answer): string => str(json.detail);
const post = (path: string, body: object) => (api: Client) => api.post(path, body);
const get = (path: string) => (api: Client) => api.root.get(path);

const ADVICE: Readonly<Record<string, readonly [ask: (api: Client) => Promise<Answer>, says: string]>> = {
  "a member that is nearly right": [post("/apps", { titel: "T" }), "did you mean title? (and 1 more)."],
  "one alone, in a sentence that ends once": [post("/apps", { title: "T", teme: "dark" }), "did you mean theme?"],
  "a parameter that is nearly right": [
    get("/v1/apps?limt=5"),
    "limt is not a parameter of this operation; did you mean limit?",
  ],
  "a path without its version": [get("/apps"), "There is no such path; did you mean /v1/apps?"],
  "a path with a slash too many": [get("/v1/apps/"), "There is no such path; did you mean /v1/apps?"],
  "a path that is like no other": [get("/v1/nothing"), "There is no such path."],
  "another version": [get("/v2/apps"), "This server speaks /v1 only."],
  "a version that begins like ours": [get("/v10/apps"), "This server speaks /v1 only."],
  "no event chosen": [
    post("/webhooks", { url: "https://a.example/", events: [] }),
    "#/events must have at least one item.",
  ],
  "an inside address": [
    post("/webhooks", { url: "https://10.0.0.1/", events: ["app.created"] }),
    "#/url private addresses are refused, by both webhook policies.",
  ],
  "http to a public address": [
    post("/webhooks", { url: "http://a.example/", events: ["app.created"] }),
    "#/url must use https; http is for loopback addresses only, by the local policy.",
  ],
};

for (const [what, [ask, says]] of Object.entries(ADVICE))
  choice("7.error-codes", `says what to do about ${what}`, OWN, async ({ api }) => {
    const detail = detailOf(await ask(api));
    assert.ok(detail.endsWith(says), detail);
  });

choice("7.error-codes", "names the scopes that a token has, and how an expired one is renewed", OWN, async () => {
  await using it = await embedded({ clock: "manual" });
  const { access_token } = await it.service.signIn({ scopes: ["read:apps", "read:data"] });
  const asked = it.api.as(access_token);
  const refused = await asked.post("/apps", { title: "T" });
  assert.equal(detailOf(refused), "This needs the scope write:apps; the token has read:apps, read:data.");
  await it.service.clock.advance("1h");
  assert.match(detailOf(await asked.get("/apps")), /expired; POST its refresh_token to \/oauth\/token\.$/);
});

choice(
  "1.test-controls",
  "where they are off, who looks for them and the console are told how to have them",
  OWN,
  async () => {
    const lines: string[] = [];
    const write = process.stderr.write.bind(process.stderr);
    await using it = await embedded({ log: "pretty" });
    process.stderr.write = (chunk: string | Uint8Array): boolean => lines.push(String(chunk)) > 0;
    const answer = await it.api.root.post("/_control/reset").finally(() => {
      process.stderr.write = write;
    });
    const told = "The test controls are off; start the server with --control.";
    assert.deepEqual([answer.status, answer.json.code, answer.json.detail], [404, "not_found", told]);
    assert.deepEqual([lines.length, lines[0]?.includes(told)], [1, true]);
  },
);
