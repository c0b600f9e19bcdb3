// The embedding handle over HTTP: what the handle throws at a caller in its own process, the control routes tell as a
// refusal. Loaded only where the test controls are switched on.
import { invalidField, type Refusal } from "../domain/refusal.ts";
import { isStoreError, type StoreData } from "../domain/store.ts";
import { controlDoor } from "../http/control-door.ts";
import { type ControlRow, type Controls, controlRows } from "../http/control-table.ts";
import type { Door } from "../http/front.ts";
import type { ProblemLinks } from "../http/problem.ts";
import { trusted } from "../kit/schema.ts";
import { OptionError } from "../options.ts";
import type { Service } from "../service.ts";

export interface TestControls {
  readonly rows: readonly ControlRow[];
  readonly door: Door;
}

export function testControls(service: Service, links: ProblemLinks): TestControls {
  const rows = controlRows(controlsOf(service));
  return { rows, door: controlDoor({ rows, links, key: () => service.apiKey }) };
}

const controlsOf = (service: Service): Controls => ({
  reset: () => service.reset(),
  now: () => service.clock.now(),
  advance: (by_ms) => refusedAt("#/advance", () => service.clock.advance(`${by_ms}ms`)),
  freeze: () => service.clock.freeze(),
  resume: () => service.clock.resume(),
  settled: (timeoutMs) => service.settled(timeoutMs === undefined ? {} : { timeoutMs }),
  // The routes add only what the schema of the same rules has let pass.
  faults: trusted<Controls["faults"]>(service.faults),
  chaos: trusted<Controls["chaos"]>(service.chaos),
  requests: () => service.requests,
  events: () => service.events,
  deliveries: () => service.deliveries,
  trace: (requestId) => service.trace(requestId),
  snapshot: () => service.snapshot(),
  // Checked by `restore` itself.
  restore: (snapshot) => refusedAt("#", () => service.restore(trusted<StoreData>(snapshot)).then(() => null)),
  setAccountState: (state) => service.setAccountState(state),
});

async function refusedAt<T>(pointer: string, work: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OptionError || isStoreError(error, "StoreRefusal"))
      return invalidField(pointer, error.message);
    throw error;
  }
}
