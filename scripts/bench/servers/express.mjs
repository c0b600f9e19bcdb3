// Express as its guide has it: the JSON middleware, a middleware for the credential, the handlers.
import express from "express";
import { AUTHORIZATION, change, create, fault, find, PORT, page, wholeNumber } from "./apps.mjs";

const server = express();
server.use((request, response, next) => {
  if (request.get("authorization") === AUTHORIZATION) next();
  else response.status(401).json({ error: "credential" });
});
server.use(express.json());
server.param("id", (request, response, next, id) => {
  request.app_ = find(id);
  if (request.app_) next();
  else response.status(404).json({ error: "not found" });
});
server.get("/v1/apps/:id", (request, response) => response.json(request.app_));
server.get("/v1/apps", (request, response) => {
  const limit = wholeNumber(request.query.limit, 20, 100);
  const offset = wholeNumber(request.query.offset, 0, Number.MAX_SAFE_INTEGER);
  if (limit === undefined || offset === undefined) response.status(400).json({ error: "limit or offset" });
  else response.json(page(limit, offset));
});
server.post("/v1/apps", (request, response) => {
  const wrong = fault(request.body);
  if (wrong) response.status(422).json({ error: wrong });
  else response.status(201).json(create(request.body));
});
server.patch("/v1/apps/:id", (request, response) => {
  const wrong = fault(request.body, request.app_);
  if (wrong) response.status(422).json({ error: wrong });
  else response.json(change(request.app_, request.body));
});
server.listen(PORT, "127.0.0.1");
