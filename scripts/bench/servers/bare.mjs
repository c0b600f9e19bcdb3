// The yardstick: node:http that checks the bearer, parses, validates and answers the same resource.
import { createServer } from "node:http";
import { AUTHORIZATION, change, create, list, PORT, read } from "./apps.mjs";

function send(response, [status, value]) {
  if (value === undefined) return response.writeHead(status).end();
  const body = JSON.stringify(value);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
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
    send(response, answer(draft));
  });
}

createServer((request, response) => {
  const { method, headers } = request;
  if (headers.authorization !== AUTHORIZATION) return send(response, [401, { error: "credential" }]);
  const [path, query = ""] = request.url.split("?");
  const id = path.slice("/v1/apps/".length);
  if (!path.startsWith("/v1/apps")) send(response, [404, { error: "not found" }]);
  else if (method === "POST") withBody(request, response, create);
  else if (method === "PATCH") withBody(request, response, (draft) => change(id, draft));
  else send(response, id === "" ? list(Object.fromEntries(new URLSearchParams(query))) : read(id, headers));
}).listen(PORT, "127.0.0.1");
