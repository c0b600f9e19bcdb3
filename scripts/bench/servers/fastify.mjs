// Fastify as its guide has it: schemas for what comes in and what goes out.
import fastify from "fastify";
import { AUTHORIZATION, create, find, PORT, page } from "./apps.mjs";

const text = (minLength, maxLength) => ({ type: "string", minLength, maxLength });
const fields = { title: text(1, 200), description: text(0, 5000), theme: text(1, 64), public: { type: "boolean" } };
const time = { type: "string" };
const app = { type: "object", properties: { id: { type: "string" }, ...fields, created_at: time, updated_at: time } };
const count = { type: "integer", minimum: 0 };
const apps = {
  type: "object",
  properties: { data: { type: "array", items: app }, total: count, limit: count, offset: count },
};
const draft = { type: "object", required: ["title"], additionalProperties: false, properties: fields };
const query = { type: "object", properties: { limit: { ...count, default: 20 }, offset: { ...count, default: 0 } } };

const server = fastify();
server.addHook("onRequest", async (request, reply) => {
  if (request.headers.authorization !== AUTHORIZATION) return reply.code(401).send({ error: "credential" });
});
server.get("/v1/apps/:id", { schema: { response: { 200: app } } }, async (request, reply) => {
  return find(request.params.id) ?? reply.code(404).send({ error: "not found" });
});
server.get("/v1/apps", { schema: { querystring: query, response: { 200: apps } } }, async (request) =>
  page(request.query.limit, request.query.offset),
);
server.post("/v1/apps", { schema: { body: draft, response: { 201: app } } }, async (request, reply) => {
  reply.code(201);
  return create(request.body);
});
await server.listen({ port: PORT, host: "127.0.0.1" });
