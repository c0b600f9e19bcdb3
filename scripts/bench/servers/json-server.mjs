// json-server with the same path and credential, in memory; the argument is the path of its main module. It validates
// nothing.
import { AUTHORIZATION, PORT } from "./apps.mjs";

const { default: jsonServer } = await import(process.argv[2]);
const server = jsonServer.create();
server.use((request, response, next) =>
  request.headers.authorization === AUTHORIZATION ? next() : response.sendStatus(401),
);
server.use(jsonServer.rewriter({ "/v1/apps": "/v1/apps?_limit=20" }), jsonServer.bodyParser);
server.use("/v1", jsonServer.router({ apps: [] }));
server.listen(PORT, "127.0.0.1");
