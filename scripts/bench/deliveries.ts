// How many deliveries go out a second, signed and recorded, against a bare node:http agent with keep-alive that posts the
// same bytes.
import { pool } from "../pool.ts";
import { compare, type Line, ratio } from "./figures.ts";
import { side, startReceiver } from "./machine.ts";

/** How many webhooks, each with one attempt at a time, and how much of the bare agent's rate they must reach. */
const RATES = { 16: ">= 0.5", 1: ">= 0.4" };

export async function throughput(): Promise<Line[]> {
  await using receiver = await startReceiver("quick");
  return await pool(1, Object.entries(RATES), async ([atOnce, goal]) => {
    const sides = ["send", "post"].map((mode) => side("a bare keep-alive agent", mode, `${receiver.url}/`, atOnce));
    const [own, bare] = await compare(sides, 0);
    return ratio(`Deliveries to ${atOnce} webhooks`, own, bare, "a second", goal);
  });
}
