// Where receivers listen, and where none does.
import { createServer, type Server } from "node:net";

/** Listens on a free loopback port and answers which. */
export function listen(server: Server): Promise<number> {
  return new Promise((ready) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      ready(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}

/** A port that nothing listens on. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((done) => server.close(done));
  return port;
}
