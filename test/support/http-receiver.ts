// A receiver on a plain HTTP server that answers as a function says, and keeps what it was sent.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { mock } from "node:test";
import type { Client, Members } from "./client.ts";
import { closeLater } from "./closing.ts";
import { listen } from "./receivers.ts";
import { attempted } from "./wait.ts";

export interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HttpReceiver {
  readonly url: string;
  readonly got: Got[];
}

/** `answer` is given a number for the status alone; where it answers undefined it has answered itself, or never will. */
export async function httpReceiver(
  answer: (count: number, response: ServerResponse, got: Got) => number | undefined = () => 200,
): Promise<HttpReceiver> {
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

/**
 * The delivery after its first attempt, to an endpoint that answers 200 when `wait_ms` have passed, without anybody
 * waiting: the sender's deadline is a timer of this process and is moved by hand, the sockets are real. The time passes
 * between the arrival of the delivery and its answer, so no race decides.
 */
export async function answeredAfter(api: Client, wait_ms: number): Promise<Members> {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    let arrive: (response: ServerResponse) => void = () => {};
    const arrived = new Promise<ServerResponse>((resolve) => {
      arrive = resolve;
    });
    const { url } = await httpReceiver((_, response) => {
      arrive(response);
      return undefined;
    });
    const webhook = await api.create("/webhooks", { url, events: ["app.created"] });
    await api.create("/apps", { title: "Answered late" });
    const response = await arrived;
    mock.timers.tick(wait_ms);
    response.writeHead(200).end();
    const delivery = await attempted(api, webhook);
    await api.delete(`/webhooks/${webhook.id}`);
    return delivery;
  } finally {
    mock.timers.reset();
  }
}
