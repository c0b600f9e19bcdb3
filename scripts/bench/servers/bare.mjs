// Baseline: node:http that checks the bearer token, then parses, validates and responds.
import { createServer } from "node:http";
import { AUTHORIZATION, create, list, PORT, read, update } from "./apps.mjs";

function send(response, [status, value]) {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

function sendForBody(request, response, handle) {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    let value;
    try {
      value = JSON.parse(Buffer.concat(chunks).toString());
    } catch {
      return send(response, [400, { error: "The body is not JSON" }]);
    }
    send(response, handle(value));
  });
}

createServer((request, response) => {
  const { method, headers } = request;
  const [path, query = ""] = request.url.split("?");
  const id = path.slice("/v1/apps/".length);
  if (headers.authorization !== AUTHORIZATION) send(response, [401, { error: "credential" }]);
  else if (!path.startsWith("/v1/apps")) send(response, [404, { error: "not found" }]);
  else if (method === "POST") sendForBody(request, response, create);
  else if (method === "PATCH") sendForBody(request, response, (fields) => update(id, fields));
  else if (id !== "") send(response, read(id));
  else send(response, list(Object.fromEntries(new URLSearchParams(query))));
}).listen(PORT, "127.0.0.1");
