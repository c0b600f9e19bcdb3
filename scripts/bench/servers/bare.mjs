// The yardstick: node:http that checks the bearer, parses, validates and answers the same resource.
import { createServer } from "node:http";
import { AUTHORIZATION, change, create, fault, find, isKnown, PORT, page, wholeNumber } from "./apps.mjs";

function send(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

function list(response, query) {
  const parameters = new URLSearchParams(query);
  const limit = wholeNumber(parameters.get("limit"), 20, 100);
  const offset = wholeNumber(parameters.get("offset"), 0, Number.MAX_SAFE_INTEGER);
  if (limit === undefined || offset === undefined) send(response, 400, { error: "limit or offset" });
  else send(response, 200, page(limit, offset));
}

function write(request, response, old) {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    let draft;
    try {
      draft = JSON.parse(Buffer.concat(chunks).toString());
    } catch {
      return send(response, 400, { error: "JSON" });
    }
    const wrong = fault(draft, old);
    if (wrong) send(response, 422, { error: wrong });
    else if (old) send(response, 200, change(old, draft));
    else send(response, 201, create(draft));
  });
}

createServer((request, response) => {
  if (request.headers.authorization !== AUTHORIZATION) return send(response, 401, { error: "credential" });
  const [path, query = ""] = request.url.split("?");
  if (path === "/v1/apps") return request.method === "POST" ? write(request, response) : list(response, query);
  const app = path.startsWith("/v1/apps/") ? find(path.slice("/v1/apps/".length)) : undefined;
  if (!app) return send(response, 404, { error: "not found" });
  if (request.method === "PATCH") return write(request, response, app);
  return isKnown(request) ? response.writeHead(304).end() : send(response, 200, app);
}).listen(PORT, "127.0.0.1");
