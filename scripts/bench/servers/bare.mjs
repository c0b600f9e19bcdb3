// Baseline server: node:http that checks the bearer token, then parses, validates and returns apps. It has no events,
// rate limits or indexes (only an array), and supports only `If-None-Match: *` of conditional requests.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const AUTHORIZATION = `Bearer ${process.env.APPHOST_API_KEY}`;
const NOTHING = [404, { error: "not found" }];
const byId = new Map();
const all = [];

const isText = (value, min, max) =>
  typeof value === "string" && value.length >= min && value.length <= max;

/** Returns the validation issue of an app's fields, if any. */
function fault({ title, description, theme, public: shared }) {
  if (!isText(title, 1, 200)) return "title must have 1 to 200 characters";
  if (!isText(description, 0, 5000)) return "description";
  if (!isText(theme, 1, 64)) return "theme";
  return typeof shared === "boolean" ? undefined : "public must be true or false";
}

const wholeNumber = (text, max) => {
  const value = Number(text);
  return Number.isInteger(value) && value >= 0 && value <= max ? value : undefined;
};

/** Each handler returns a status and a body. */
function list({ limit = 20, offset = 0 }) {
  const [count, first] = [wholeNumber(limit, 100), wholeNumber(offset, Number.MAX_SAFE_INTEGER)];
  if (count === undefined || first === undefined) return [400, { error: "limit or offset" }];
  return [
    200,
    { data: all.slice(first, first + count), total: all.length, limit: count, offset: first },
  ];
}

function read(id, headers) {
  const app = byId.get(id);
  if (app === undefined) return NOTHING;
  return headers["if-none-match"] === "*" ? [304] : [200, app];
}

function create(draft) {
  const { title, description = "", theme = "light", public: shared = false } = draft;
  const fields = { title, description, theme, public: shared };
  const wrong = fault(fields);
  if (wrong) return [422, { error: wrong }];
  const now = new Date().toISOString();
  const app = { id: `app_${randomUUID()}`, ...fields, created_at: now, updated_at: now };
  byId.set(app.id, app);
  all.push(app);
  return [201, app];
}

function change(id, draft) {
  const app = byId.get(id);
  if (app === undefined) return NOTHING;
  const wrong = fault({ ...app, ...draft });
  return wrong
    ? [422, { error: wrong }]
    : [200, Object.assign(app, draft, { updated_at: new Date().toISOString() })];
}

function send(response, [status, value]) {
  if (value === undefined) return response.writeHead(status).end();
  const body = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

function withBody(request, response, answer) {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    let draft;
    try {
      draft = JSON.parse(Buffer.concat(chunks).toString());
    } catch {
      return send(response, [400, { error: "JSON" }]);
    }
    send(
      response,
      Object(draft) === draft ? answer(draft) : [422, { error: "body must be an object" }],
    );
  });
}

createServer((request, response) => {
  const { method, headers } = request;
  if (headers.authorization !== AUTHORIZATION)
    return send(response, [401, { error: "credential" }]);
  const [path, query = ""] = request.url.split("?");
  const id = path.slice("/v1/apps/".length);
  if (!path.startsWith("/v1/apps")) send(response, [404, { error: "not found" }]);
  else if (method === "POST") withBody(request, response, create);
  else if (method === "PATCH") withBody(request, response, (draft) => change(id, draft));
  else
    send(
      response,
      id === "" ? list(Object.fromEntries(new URLSearchParams(query))) : read(id, headers),
    );
}).listen(Number(process.env.APPHOST_PORT), "127.0.0.1");
