// An endpoint that answers late, without anybody waiting: the sender's deadline is a timer of this process and is moved
// by hand, the sockets are real. The time passes between the arrival of the delivery and its answer, so no race decides.
import type { ServerResponse } from "node:http";
import { mock } from "node:test";
import type { Client, Members } from "./client.ts";
import { attempted } from "./deliveries.ts";
import { httpReceiver } from "./http-receiver.ts";

/** The delivery after its first attempt, to an endpoint that answers 200 when `wait_ms` have passed. */
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
