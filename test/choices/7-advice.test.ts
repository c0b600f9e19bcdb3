// What a refusal says to the person who reads it: the cause by its name, and what to do about it.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Answer, str } from "../support/client.ts";
import { printedOn } from "../support/process.ts";

const detailOf = ({ json }: Answer): string => str(json.detail);
const HOOK = { url: "https://a.example/", events: ["app.created"] };

const ADVICE: readonly (readonly [request: string, body: object | undefined, says: string])[] = [
  ["POST /v1/apps", { titel: "T" }, "did you mean title? (and 1 more)."],
  ["POST /v1/apps", { title: "T", teme: "dark" }, "did you mean theme?"],
  ["GET /v1/apps?limt=5", undefined, "limt is not a parameter of this operation; did you mean limit?"],
  ["GET /apps", undefined, "There is no such path; did you mean /v1/apps?"],
  ["GET /v1/apps/", undefined, "There is no such path; did you mean /v1/apps?"],
  ["GET /v1/nothing", undefined, "There is no such path."],
  ["POST /v1/webhooks", { ...HOOK, events: [] }, "#/events must have at least one item."],
];

choice("7.error-codes", "a refusal says what was probably meant, or what to do", "ours", async ({ api }) => {
  for (const [request, body, says] of ADVICE) {
    const [method = "", path = ""] = request.split(" ");
    const detail = detailOf(await api.root.call(method, path, body));
    assert.ok(detail.endsWith(says), `${request}: ${detail}`);
  }
});

choice("7.error-codes", "names a token's scopes, and how to renew an expired one", { clock: "manual" }, async (own) => {
  const { access_token } = await own.service.signIn({ scopes: ["read:apps", "read:data"] });
  const holder = own.api.as(access_token);
  const refused = await holder.post("/apps", { title: "T" });
  assert.equal(detailOf(refused), "This needs the scope write:apps; the token has read:apps, read:data.");
  await own.service.clock.advance("1h");
  assert.match(detailOf(await holder.get("/apps")), /expired; POST its refresh_token to \/oauth\/token\.$/);
});

choice("1.test-controls", "answer and console say how to have them", { log: "pretty" }, async (own) => {
  let answer: Answer | undefined;
  const lines = await printedOn(process.stderr, async () => {
    answer = await own.api.root.post("/_control/reset");
  });
  const told = "The test controls are off; start the server with --control.";
  assert.deepEqual([answer?.status, answer?.json.code, answer?.json.detail], [404, "not_found", told]);
  assert.deepEqual([lines.length, lines[0]?.includes(told)], [1, true]);
  assert.doesNotMatch((await own.api.root.get("/openapi.json")).text, /_control/);
});
