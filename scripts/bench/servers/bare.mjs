// The yardstick: node:http that checks the bearer, parses, validates and answers the same resource.
import { createServer } from "node:http";
import { AUTHORIZATION, create, fault, find, PORT, page, wholeNumber } from "./apps.mjs";

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

function post(request, response) {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    let draft;
    try {
      draft = JSON.parse(Buffer.concat(chunks).toString());
    } catch {
      return send(response, 400, { error: "JSON" });
    }
    const wrong = fault(draft);
    return wrong ? send(response, 422, { error: wrong }) : send(response, 201, create(draft));
  });
}

createServer((request, response) => {
  if (request.headers.authorization !== AUTHORIZATION) return send(response, 401, { error: "credential" });
  const [path, query = ""] = request.url.split("?");
  if (path === "/v1/apps") return request.method === "POST" ? post(request, response) : list(response, query);
  const app = path.startsWith("/v1/apps/") ? find(path.slice("/v1/apps/".length)) : undefined;
  return app ? send(response, 200, app) : send(response, 404, { error: "not found" });
}).listen(PORT, "127.0.0.1");
