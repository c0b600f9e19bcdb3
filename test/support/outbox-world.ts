// The outbox and its world in a test.
import { closeLater } from "./closing.ts";
import { newOutboxWorld, type World, type WorldOptions } from "./new-outbox-world.ts";

export * from "./new-outbox-world.ts";

/** A world of its own, stopped after the test file. */
export async function outboxWorld(options?: WorldOptions): Promise<World> {
  const world = await newOutboxWorld(options);
  closeLater(() => world.stop());
  return world;
}
