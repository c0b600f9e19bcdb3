// A receiver of deliveries; the first argument says how it behaves. Asked over IPC for its "report", it says which apps it
// heard of and when, on the machine's own clock. A GET asks whether it is there.
import { createServer } from "node:http";

/** Made once: what the sending of it costs is taken from the machine that is measured. */
const CHUNK = Buffer.alloc(65_536);
const arrived = [];

const KINDS = {
  quick: (request, response) => request.resume().on("end", () => response.end()),
  async healthy(request, response) {
    const at_ms = Number(process.hrtime.bigint()) / 1e6;
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    arrived.push([/app_\w+/.exec(text)?.[0], at_ms]);
    response.end();
  },
  silent() {},
  dripping(request, response) {
    response.writeHead(200);
    const drip = setInterval(() => response.write("."), 100);
    request.socket.on("close", () => clearInterval(drip));
  },
  huge(_, response) {
    response.writeHead(200, { "Content-Length": 2 ** 30 });
    const pump = () => {
      while (!response.destroyed && response.write(CHUNK));
    };
    response.on("drain", pump);
    pump();
  },
};

const answer = KINDS[process.argv[2]];
createServer({ keepAliveTimeout: 60_000 }, (request, response) =>
  request.method === "GET" ? response.end() : answer(request, response),
).listen(Number(process.env.BENCH_PORT), "127.0.0.1");
process.on("message", (question) => {
  if (question === "report") process.send(arrived);
});
