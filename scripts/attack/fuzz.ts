// Sends drawn requests to a service in this process: each answer is a declared one that fits its schema and no 5xx, no body
// that breaks its schema is taken, and what is refused leaves the state as it was. Each batch begins from the same state.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { type Service, startService } from "../../src/index.ts";
import { type Answer, Client } from "../../test/support/client.ts";
import { ApiDocument } from "../../test/support/openapi.ts";
import { makeWorld } from "../../test/support/world.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import { Draw } from "./draw.ts";
import { type Asked, requests } from "./requests.ts";

const BATCH = 100;
const REFUSAL_MAX = 16_384;
/** More than the webhooks of a batch are sent. */
const NOTHING_LEAVES = { effect: "drop", times: 1_000_000 } as const;
const KEYS = ["own", "foreign"].map((name) => `${name}-${"0".repeat(20)}`);

export async function fuzz(count: number, seed: string): Promise<Finding> {
  const accounts = KEYS.map((key) => ({ name: "A", api_keys: [{ name: "K", key }] }));
  await using service = await startService({ clock: "manual", randomSeed: seed, rateLimit: "off", seed: { accounts } });
  const keys = [...KEYS, ...(await tokens(service)), null, "", "x", "a b"];
  const [own = {}, foreign = {}] = await pool(1, KEYS, (key) =>
    makeWorld(new Client({ baseUrl: service.baseUrl, key })),
  );
  const root = new Client({ baseUrl: service.authUrl, key: null });
  const document = new ApiDocument((await root.get("/openapi.json")).json);
  const next = requests(new Draw(seed), document, keys, own, foreign);
  const world = await service.snapshot();
  const wrong: string[] = [];
  let refused = 0;
  for (let sent = 0; sent < count; sent += 1) {
    if (sent % BATCH === 0) await service.restore(world);
    if (sent % BATCH === 0) service.chaos.add(NOTHING_LEAVES);
    const before = await stateOf(service);
    const asked = next();
    try {
      const answer = await root.as(asked.key).send(asked.method, asked.path, asked);
      judge(document, asked, answer);
      if (answer.status < 400) continue;
      refused += 1;
      assert.ok(isDeepStrictEqual(before, await stateOf(service)), `${answer.status}, and the state has changed`);
    } catch (error) {
      wrong.push(`${shown(asked)}\n    ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  root.close();
  const tried = `${count}; ${refused} were refused, and changed nothing`;
  return { what: "Every operation, drawn from the document", tried, wrong };
}

/** An expired one, one of little scope, and that one spoiled. */
async function tokens(service: Service): Promise<string[]> {
  const { access_token: expired } = await service.signIn({ scopes: ["admin"] });
  await service.clock.advance("2h");
  const { access_token: narrow } = await service.signIn({ scopes: ["read:apps"] });
  return [expired, narrow, narrow.slice(0, -9), `e30${narrow.slice(narrow.indexOf("."))}`];
}

/** Once what goes on behind the answers is done. */
async function stateOf(service: Service) {
  await service.settled();
  return service.snapshot();
}

function judge(document: ApiDocument, { method, path, against = [] }: Asked, answer: Answer): void {
  const { status, text } = answer;
  assert.ok(status < 500, `${status} ${text}`);
  document.check(method, path, answer);
  assert.ok(status < 400 || answer.bytes.length <= REFUSAL_MAX, `a refusal of ${answer.bytes.length} bytes`);
  assert.ok(status >= 400 || against.length === 0, `${status}, against the document: ${against.join(", ")}`);
}

const shown = ({ method, path, key, headers, body = "" }: Asked): string =>
  `${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, key })} ${body.toString("latin1").slice(0, 500)}`;
