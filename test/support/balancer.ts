// A load balancer in front of several processes: each connection goes to the next process, so a client without
// keep-alive reaches another process with each request.
import assert from "node:assert/strict";
import { Agent } from "node:http";
import { connect, createServer } from "node:net";
import { Client } from "./client.ts";
import { exchange, held, oauthError, pair, publishedKeys, refresh, sendForm } from "./oauth.ts";
import { listen } from "./ports.ts";

export async function startBalancer() {
  const ports: number[] = [];
  let turn = 0;
  const server = createServer((asking) => {
    turn += 1;
    const answering = connect(ports[turn % ports.length] ?? 0, "127.0.0.1");
    asking.pipe(answering).pipe(asking);
    asking.on("error", () => answering.destroy());
    answering.on("error", () => asking.destroy());
  });
  const url = `http://localhost:${await listen(server)}`;
  return {
    url,
    /** The addresses of the processes. */
    ports,
    client: (key: string) => new Client({ baseUrl: `${url}/v1`, key, agent: new Agent() }),
    [Symbol.dispose]: () => void server.close(),
  };
}

/** Runs every flow that starts with one request and continues with another, each sent to the next process. */
export async function actsAsOne(api: Client, processes: number): Promise<void> {
  const each = <T>(ask: (n: number) => Promise<T>) =>
    Promise.all(Array.from({ length: processes }, (_, n) => ask(n)));
  const statuses = (key: string) => each(async () => (await api.as(key).get("/apps")).status);
  const all = (status: number) => Array<number>(processes).fill(status);
  const { app, code, tokens } = await held(api);
  assert.deepEqual(await statuses(tokens.access), all(200));
  const second = pair(await refresh(api, tokens.refresh));
  assert.deepEqual(await statuses(second.access), all(200));
  for (const answer of await each(() => refresh(api, tokens.refresh))) oauthError(answer);
  assert.deepEqual(
    await statuses(second.access),
    all(401),
    "an old refresh token revokes its grant everywhere",
  );
  const used = await code();
  const third = pair(await exchange(api, app, used));
  assert.equal((await sendForm(api, "/oauth/revoke", { ...app, token: third.access })).status, 200);
  assert.deepEqual(await statuses(third.access), all(401));
  for (const answer of await each(() => exchange(api, app, used))) oauthError(answer);
  const create = () => api.post("/apps", { title: "Once" }, { "idempotency-key": "one for all" });
  const { id } = await create();
  for (const answer of await each(create))
    assert.deepEqual([answer.id, answer.header("idempotency-replayed")], [id, "true"]);
  const keys = await each(() => publishedKeys(api));
  for (const published of keys) assert.deepEqual(published, keys[0]);
}
