// Clients that run under another origin and enforce CORS: the browser environments of test runners (jsdom, happy-dom).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { CLIENTS, clientTest, requireClient } from "../support/clients.ts";
import { type Embedded, embedded } from "../support/embedded.ts";
import { begins } from "../support/patterns.ts";

const ORIGIN = "http://localhost:3000";
const FOREIGN = "http://app.example.com";
const read = (name: string) => readFileSync(`${CLIENTS}node_modules/${name}`, "utf8");

/** Creates an app and reads the headers that CORS must expose. */
const viaAxios = async (origin: string, { baseUrl, api }: Embedded) => {
  const { JSDOM, VirtualConsole } = requireClient("jsdom");
  // jsdom also logs requests that CORS blocks to the console.
  const { window } = new JSDOM("", {
    url: `${origin}/`,
    runScripts: "outside-only",
    virtualConsole: new VirtualConsole(),
  });
  window.eval(read("axios/dist/axios.min.js"));
  const headers = { Authorization: `Bearer ${api.key}` };
  const answer = await window.axios.post(`${baseUrl}/apps`, { title: "T" }, { headers });
  return { status: answer.status, etag: answer.headers.etag, location: answer.headers.location };
};

const viaHappyDom: typeof viaAxios = async (origin, { baseUrl, api }) => {
  const { Window } = requireClient("happy-dom");
  const window = new Window({ url: `${origin}/` });
  const headers = { Authorization: `Bearer ${api.key}`, "Content-Type": "application/json" };
  const answer = await window.fetch(`${baseUrl}/apps`, {
    method: "POST",
    headers,
    body: '{"title":"T"}',
  });
  return {
    status: answer.status,
    etag: answer.headers.get("etag"),
    location: answer.headers.get("location"),
  };
};

for (const [name, post] of Object.entries({
  "axios in jsdom": viaAxios,
  "fetch in happy-dom": viaHappyDom,
}))
  clientTest(`${name} calls the API from a loopback origin and from no other`, async () => {
    await using own = await embedded();
    const { status, etag, location } = await post(ORIGIN, own);
    assert.equal(status, 201);
    assert.match(String(etag), /^"/);
    begins(location, `${own.baseUrl}/apps/app_`);
    await assert.rejects(post(FOREIGN, own), /Network Error|Cross-Origin/);
    assert.equal((await own.api.get("/apps")).total, 1);
  });
