// json-server as its guide has it, without its log and with its data in memory: on a file it would write all of it anew
// at each create.
import jsonServer from "json-server";

const server = jsonServer.create();
server.use(jsonServer.defaults({ logger: false }));
server.use(jsonServer.router({ apps: [] }));
server.listen(Number(process.env.BENCH_PORT), "127.0.0.1");
