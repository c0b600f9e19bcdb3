// The size limits that spec part 8 leaves open: bodies, nesting, URLs and headers. Each is held on both sides (contract, part 8).
import assert from "node:assert/strict";
import { choice, type OwnContext } from "../support/clauses.ts";
import { type Client, str } from "../support/client.ts";
import { invalid, problem } from "../support/problem.ts";
import { RawConnection, rawAnswer } from "../support/raw.ts";

const MIB = 1_048_576;
const JSON_TYPE = { "content-type": "application/json" };

const send = (api: Client, path: string, body: string | Buffer) => api.send("POST", path, { headers: JSON_TYPE, body });

/** A body of exactly `size` bytes, padded with spaces behind the JSON. */
const padded = (value: unknown, size: number): Buffer => Buffer.alloc(size, JSON.stringify(value).padEnd(size));

const head = (line: string, { api }: OwnContext, ...lines: string[]): string =>
  [`${line} HTTP/1.1`, "host: localhost", `authorization: Bearer ${api.key}`, ...lines, "", ""].join("\r\n");

choice("8.body-size", "is 1 MiB, and one byte more is refused", async ({ api }) => {
  assert.equal((await send(api, "/apps", padded({ title: "T" }, MIB))).status, 201);
  problem(await send(api, "/apps", padded({ title: "T" }, MIB + 1)), "payload_too_large");
  const { id } = await api.create("/apps", { title: "T" });
  const patch = { headers: JSON_TYPE, body: padded({ title: "T" }, MIB + 1) };
  problem(await api.send("PATCH", `/apps/${id}`, patch), "payload_too_large");
});

choice("8.body-size", "a title of 10 MB is refused, a field too long in a small body by name", async ({ api }) => {
  problem(await send(api, "/apps", JSON.stringify({ title: "x".repeat(10_000_000) })), "payload_too_large");
  invalid(await api.post("/apps", { title: "x".repeat(1_000_000) }), "#/title");
});

choice("8.body-size", "is refused by its announced length, before any of it is sent", "ours", async (context) => {
  const lines = ["content-type: application/json", `content-length: ${MIB + 1}`];
  const connection = await RawConnection.open(context.authUrl);
  const answer = await connection.write(head("POST /v1/apps", context, ...lines)).answer();
  problem(answer, "payload_too_large");
  assert.equal(answer.headers.connection, "close");
  connection.destroy();
});

choice("8.body-size", "is counted as it streams in, where no length is announced", "ours", async (context) => {
  const lines = ["content-type: application/json", "transfer-encoding: chunked"];
  const connection = await RawConnection.open(context.authUrl);
  connection.write(head("POST /v1/apps", context, ...lines));
  const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`;
  for (let sent = 0; sent <= MIB / 65_536; sent += 1) connection.write(chunk);
  problem(await connection.answer(), "payload_too_large");
  connection.write("0\r\n\r\n").end();
  assert.equal(await connection.untilClosed(), "end");
});

choice("8.body-size", "a client that sends all of it first still gets the answer", "ours", async (context) => {
  const lines = ["content-type: application/json", `content-length: ${4 * MIB}`];
  const connection = await RawConnection.open(context.authUrl);
  connection.write(head("POST /v1/apps", context, ...lines)).write(Buffer.alloc(4 * MIB, " "));
  problem(await connection.answer(), "payload_too_large");
  assert.equal(await connection.end().untilClosed(), "end");
});

choice("8.body-size.data", "a data source may come in 10 MiB, and one byte more is refused", async ({ api }) => {
  const body = { name: "Large", type: "csv", data: "a\n1\n" };
  assert.equal((await send(api, "/data-sources", padded(body, 10 * MIB))).status, 201);
  problem(await send(api, "/data-sources", padded(body, 10 * MIB + 1)), "payload_too_large");
});

choice("8.bounds.nesting", "64 levels are read, 65 are not", async ({ api }) => {
  const arrays = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const objects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
  invalid(await send(api, "/apps", arrays(64)), "#");
  invalid(await send(api, "/apps", objects(64)), "#/a", "#/title");
  for (const body of [
    arrays(65),
    objects(65),
    arrays(1_000),
    arrays(500_000),
    "[".repeat(1_000_000),
    '{"a":'.repeat(100_000),
  ])
    problem(await send(api, "/apps", body), "invalid_json");
});

choice(
  "8.bounds.nesting",
  "is told before the body is parsed, and brackets inside strings are none",
  async ({ api }) => {
    const endless = await send(api, "/apps", "[".repeat(65));
    assert.match(str(problem(endless, "invalid_json").detail), /64 levels/);
    const title = `${"[{".repeat(40)}\\"${"[".repeat(70)}\\`;
    assert.equal((await api.create("/apps", { title })).title, title);
  },
);

choice("8.bounds.requests", "a URL has 8 KiB at most", "ours", async (context) => {
  const url = (length: number) => `/v1/apps?x=${"y".repeat(length - "/v1/apps?x=".length)}`;
  const ask = (length: number) => rawAnswer(context.authUrl, head(`GET ${url(length)}`, context));
  problem(await ask(8_192), "invalid_parameter");
  for (const length of [8_193, 20_000, 40_000, 200_000]) problem(await ask(length), "uri_too_long");
});

choice("8.bounds.requests", "headers have 16 KiB at most", "ours", async (context) => {
  const ask = (bytes: number) => {
    const fixed = head("GET /v1/account", context).indexOf("\r\n") + 2;
    const rest = head("GET /v1/account", context).length - fixed - 2;
    return rawAnswer(context.authUrl, head("GET /v1/account", context, `x: ${"y".repeat(bytes - rest - 5)}`));
  };
  assert.equal((await ask(16_384)).status, 200);
  for (const bytes of [16_385, 20_000, 40_000, 200_000]) problem(await ask(bytes), "headers_too_large");
});

choice("8.bounds.requests", "many small headers count as one large one, all of them", "ours", async (context) => {
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `x${at}: y`);
  assert.equal((await rawAnswer(context.authUrl, head("GET /v1/account", context, ...lines(1_500)))).status, 200);
  const answer = await rawAnswer(context.authUrl, head("GET /v1/account", context, ...lines(2_500)));
  problem(answer, "headers_too_large");
});

choice(
  "8.bounds.requests",
  "the credential counts even behind two thousand other headers",
  "ours",
  async ({ authUrl, api }) => {
    const filler = Array.from({ length: 1_500 }, (_, at) => `x${at}: y`).join("\r\n");
    const request = `GET /v1/account HTTP/1.1\r\nhost: x\r\n${filler}\r\nauthorization: Bearer ${api.key}\r\n\r\n`;
    assert.equal((await rawAnswer(authUrl, request)).status, 200);
  },
);
