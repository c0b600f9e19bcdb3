// A receiver on a plain HTTP server that answers as a function says, and keeps what it was sent.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { closeLater } from "./closing.ts";
import { listen } from "./receivers.ts";

export interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type HttpReceiver = Awaited<ReturnType<typeof httpReceiver>>;

/** `answer` is given a number for the status alone; where it answers undefined it has answered itself, or never will. */
export async function httpReceiver(
  answer: (count: number, response: ServerResponse, got: Got) => number | undefined = () => 200,
) {
  const got: Got[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const one = { headers: request.headers, body };
    got.push(one);
    const status = answer(got.length, response, one);
    if (status !== undefined) response.writeHead(status).end();
  });
  const port = await listen(server);
  closeLater(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}/hook`, got };
}
