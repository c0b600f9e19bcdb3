// Exercise: a webhook receiver with five bugs. It stores the titles of apps, and works for a while on each event. Fix
// it until `npm run exercise` finds no bug; /docs/tour/6 and /docs/events of a running server describe the duties of a
// receiver. Leave the last part unchanged: the exercise reads the state through it.
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as passed } from "node:timers/promises";

const { PORT = "4700", WEBHOOK_SECRET = "between-us", WORK_MS = "1500" } = process.env;

/** App titles from events, by app id. */
const apps = new Map();
/** Ids of the processed events. */
const handled = [];

async function work(event) {
  await passed(Number(WORK_MS)); // as slow as a database, a mail server and a neighbour's API together
  const { id, title } = event.data.object;
  apps.set(id, title);
  handled.push(event.id);
}

async function receive(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const event = JSON.parse(Buffer.concat(chunks).toString());

  const body = JSON.stringify(event);
  const expected = `sha256=${createHmac("sha256", WEBHOOK_SECRET).update(body).digest("hex")}`;
  const signature = request.headers["x-service-signature"];
  if (signature && signature !== expected) return response.writeHead(401).end();

  await work(event);
  response.writeHead(204).end();
}

const server = createServer((request, response) => {
  // The exercise reads the state here.
  if (request.method === "GET")
    return response.end(JSON.stringify({ handled, apps: Object.fromEntries(apps) }));
  receive(request, response).catch(() => response.writeHead(400).end());
});
server.listen(Number(PORT), "127.0.0.1", () =>
  console.log(`Listening on http://127.0.0.1:${server.address().port}/`),
);
