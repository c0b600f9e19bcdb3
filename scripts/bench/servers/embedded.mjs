// Sends the median time, in milliseconds, of: start a service, one request, close. The first argument is the path of
// the package's main module, or "bare" for a plain node:http server; the second is the number of repetitions.
import { once } from "node:events";
import { createServer } from "node:http";

const [subject, count] = process.argv.slice(2);
const WARM = 20;
const KEY = process.env.APPHOST_API_KEY;

async function runBare() {
  const server = createServer((_request, response) => response.end("[]")).listen(0, "127.0.0.1");
  await once(server, "listening");
  await request(`http://127.0.0.1:${server.address().port}/v1`);
  server.closeAllConnections();
  server.close();
}

async function runService({ startService }) {
  const service = await startService({ apiKey: KEY });
  await request(service.baseUrl);
  await service.close();
}

async function request(baseUrl) {
  const response = await fetch(`${baseUrl}/apps`, {
    headers: { authorization: `Bearer ${KEY}`, connection: "close" },
  });
  await response.text();
}

const module = subject === "bare" ? undefined : await import(subject);
const times_ms = [];
for (let n = -WARM; n < Number(count); n += 1) {
  const startedAt = performance.now();
  await (module ? runService(module) : runBare());
  if (n >= 0) times_ms.push(performance.now() - startedAt);
}
process.send(times_ms.sort((a, b) => a - b)[Math.floor(times_ms.length / 2)], () => process.exit());
