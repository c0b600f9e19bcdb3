// The client of the answer times, in a process of its own: in the server's it would see an answer only when the server has
// a moment for it. It waits a little before each create, so that each is timed by itself and not behind the deliveries
// of the one before.
import { once } from "node:events";
import { clientOf, pause } from "./world.ts";

const WARM_UP = 300;
const BETWEEN_MS = 2;

const [{ creates, servers }] = await once(process, "message");
const clients: { post: (path: string, body: unknown) => Promise<unknown>; times_ms: number[] }[] = servers.map(
  ({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }) => ({ ...clientOf(baseUrl, apiKey), times_ms: [] }),
);
for (let n = 0; n < WARM_UP + creates; n += 1)
  for (const { post, times_ms } of clients) {
    await pause(BETWEEN_MS);
    const began = performance.now();
    await post("/apps", { title: "Timed" });
    if (n >= WARM_UP) times_ms.push(performance.now() - began);
  }
process.send?.(clients.map(({ times_ms }) => times_ms));
