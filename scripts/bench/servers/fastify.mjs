// Fastify as its guide has it: schemas for what comes in and what goes out.
import fastify from "fastify";
import { AUTHORIZATION, change, create, find, isKnown, PORT, page } from "./apps.mjs";

const text = (minLength, maxLength) => ({ type: "string", minLength, maxLength });
const fields = { title: text(1, 200), description: text(0, 5000), theme: text(1, 64), public: { type: "boolean" } };
const time = { type: "string" };
const app = { type: "object", properties: { id: time, ...fields, created_at: time, updated_at: time } };
const count = { type: "integer", minimum: 0 };
const data = { type: "array", items: app };
const apps = { type: "object", properties: { data, total: count, limit: count, offset: count } };
const changes = { type: "object", additionalProperties: false, properties: fields };
const draft = { ...changes, required: ["title"] };
const query = { type: "object", properties: { limit: { ...count, default: 20 }, offset: { ...count, default: 0 } } };

const server = fastify();
server.addHook("onRequest", async (request, reply) => {
  if (request.headers.authorization !== AUTHORIZATION) return reply.code(401).send({ error: "credential" });
});
server.setErrorHandler((error, _, reply) => reply.code(error.validation ? 422 : 500).send({ error: error.message }));
server.get("/v1/apps/:id", { schema: { response: { 200: app } } }, async (request, reply) => {
  const found = find(request.params.id);
  if (!found) return reply.code(404).send({ error: "not found" });
  return isKnown(request) ? reply.code(304).send() : found;
});
server.get("/v1/apps", { schema: { querystring: query, response: { 200: apps } } }, async (request) =>
  page(request.query.limit, request.query.offset),
);
server.post("/v1/apps", { schema: { body: draft, response: { 201: app } } }, async (request, reply) => {
  reply.code(201);
  return create(request.body);
});
server.patch("/v1/apps/:id", { schema: { body: changes, response: { 200: app } } }, async (request, reply) => {
  const found = find(request.params.id);
  return found ? change(found, request.body) : reply.code(404).send({ error: "not found" });
});
await server.listen({ port: PORT, host: "127.0.0.1" });
