// The store that keeps everything in memory and nothing beyond its process.
import type { Store } from "../domain/store.ts";
import { Engine } from "./engine.ts";

export const memoryStore = (): Store => new Engine(async () => undefined);
