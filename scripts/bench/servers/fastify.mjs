// Fastify as its guide has it: schemas for what comes in and what goes out.
import fastify from "fastify";
import { AUTHORIZATION, change, create, list, PORT, read } from "./apps.mjs";

const text = (minLength, maxLength) => ({ type: "string", minLength, maxLength });
const fields = { title: text(1, 200), description: text(0, 5000), theme: text(1, 64), public: { type: "boolean" } };
const time = { type: "string" };
const app = { type: "object", properties: { id: time, ...fields, created_at: time, updated_at: time } };
const count = { type: "integer", minimum: 0 };
const data = { type: "array", items: app };
const apps = { type: "object", properties: { data, total: count, limit: count, offset: count } };
const changes = { type: "object", additionalProperties: false, properties: fields };
const draft = { ...changes, required: ["title"] };
const querystring = {
  type: "object",
  properties: { limit: { ...count, default: 20 }, offset: { ...count, default: 0 } },
};

const server = fastify();
server.addHook("onRequest", async (request, reply) => {
  if (request.headers.authorization !== AUTHORIZATION) return reply.code(401).send({ error: "credential" });
});
server.setErrorHandler((error, _, reply) => reply.code(error.validation ? 422 : 500).send({ error: error.message }));
const route = (method, url, schema, answer) =>
  server.route({
    ...{ method, url, schema },
    handler: async (request, reply) => {
      const [status, value] = answer(request);
      return reply.code(status).send(value);
    },
  });
route("GET", "/v1/apps/:id", { response: { 200: app } }, ({ params, headers }) => read(params.id, headers));
route("GET", "/v1/apps", { querystring, response: { 200: apps } }, ({ query }) => list(query));
route("POST", "/v1/apps", { body: draft, response: { 201: app } }, ({ body }) => create(body));
route("PATCH", "/v1/apps/:id", { body: changes, response: { 200: app } }, ({ params, body }) =>
  change(params.id, body),
);
await server.listen({ port: PORT, host: "127.0.0.1" });
