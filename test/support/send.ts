// Sends a delivery to each URL given and prints each result as a line of JSON. It is a separate process because Node
// reads the trusted certificates when it starts. Every name resolves to this machine.
import { createHttpSender } from "../../src/delivery/sender.ts";

const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
const sender = createHttpSender({ policy: "local", timeout_ms: 10_000, resolve });
for (const url of process.argv.slice(2)) {
  const result = await sender.send({ url, headers: {}, body: "" });
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
sender.close();
