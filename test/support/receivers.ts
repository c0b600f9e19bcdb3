// Receivers that answer badly, for the delivery tests: raw sockets, because no HTTP server would do this. Each collects
// what it was sent.
import { createServer, type Server, type Socket } from "node:net";

export interface RawReceiver {
  readonly url: string;
  readonly port: number;
  /** The requests as text, headers and body. */
  readonly requests: string[];
  /** How many connections were made. */
  readonly connections: () => number;
  close(): Promise<void>;
}

/** Calls `answer` once a whole request has arrived on a connection; further ones on the same connection too. */
export async function rawReceiver(answer: (socket: Socket, count: number) => void): Promise<RawReceiver> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    let text = "";
    // A peer that goes away in the middle is what half of these tests are about.
    socket.on("error", () => sockets.delete(socket));
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const length = /\r\ncontent-length: (\d+)/i.exec(text);
      const whole = text.indexOf("\r\n\r\n") + 4 + Number(length?.[1] ?? 0);
      if (!text.includes("\r\n\r\n") || text.length < whole) return;
      requests.push(text.slice(0, whole));
      text = text.slice(whole);
      answer(socket, requests.length);
    });
  });
  const port = await listen(server);
  const close = () =>
    new Promise<void>((done) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => done());
    });
  return { url: `http://127.0.0.1:${port}/hook`, port, requests, connections: () => connections, close };
}

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
