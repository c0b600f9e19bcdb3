// The same API on Fastify; the argument is the path of its main module.
import { AUTHORIZATION, create, list, PORT, read, update } from "./apps.mjs";

const { default: createFastify } = await import(process.argv[2]);
const server = createFastify();
const send = (reply, [status, value]) => reply.code(status).send(value);

server.addHook("onRequest", async (request, reply) => {
  if (request.headers.authorization !== AUTHORIZATION)
    return send(reply, [401, { error: "credential" }]);
});
server.get("/v1/apps", (request, reply) => send(reply, list(request.query)));
server.get("/v1/apps/:id", (request, reply) => send(reply, read(request.params.id)));
server.post("/v1/apps", (request, reply) => send(reply, create(request.body)));
server.patch("/v1/apps/:id", (request, reply) =>
  send(reply, update(request.params.id, request.body)),
);
await server.listen({ port: PORT, host: "127.0.0.1" });
