// Ports for receivers, and a port without a listener.
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Listens on a free loopback port and returns it. */
export async function listen(server: Server) {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return Object(server.address()).port;
}

/** A port that nothing listens on. */
export async function closedPort() {
  const server = createServer();
  const port = await listen(server);
  await once(server.close(), "close");
  return port;
}
