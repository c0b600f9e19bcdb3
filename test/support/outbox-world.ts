// The outbox and its world in a test.
import { collections } from "../../src/domain/collections.ts";
import { accounts } from "../../src/domain/model.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { closeLater } from "./closing.ts";
import { newOutboxWorld, type World, type WorldOptions } from "./new-outbox-world.ts";

export * from "./new-outbox-world.ts";

/** A world of its own, stopped after the test file. */
export async function outboxWorld(options?: WorldOptions): Promise<World> {
  const world = await newOutboxWorld(options);
  closeLater(() => world.stop());
  return world;
}

/** One whose store keeps everything, and has its account. */
export async function wholeWorld(): Promise<World> {
  const store = memoryStore();
  await store.open(collections);
  const world = await outboxWorld({ store });
  await store.transact((tx) => tx.put(accounts, { ...world.account, all: "accounts" }));
  return world;
}
