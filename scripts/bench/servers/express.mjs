// Express as its guide has it: the JSON middleware, a middleware for the credential, the handlers.
import express from "express";
import { AUTHORIZATION, change, create, list, PORT, read } from "./apps.mjs";

const server = express();
server.use((request, response, next) => {
  if (request.get("authorization") === AUTHORIZATION) next();
  else response.status(401).json({ error: "credential" });
});
server.use(express.json());
const by = (answer) => (request, response) => {
  const [status, value] = answer(request);
  response.status(status).json(value);
};
server.get(
  "/v1/apps/:id",
  by(({ params, headers }) => read(params.id, headers)),
);
server.get(
  "/v1/apps",
  by(({ query }) => list(query)),
);
server.post(
  "/v1/apps",
  by(({ body }) => create(body)),
);
server.patch(
  "/v1/apps/:id",
  by(({ params, body }) => change(params.id, body)),
);
server.listen(PORT, "127.0.0.1");
