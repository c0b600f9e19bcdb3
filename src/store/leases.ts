// Leases of one process: whoever asks first holds the name until its time is over. They end with the process, which the
// port allows; stores that admit one process only need no more.
import type { Lease } from "../domain/store.ts";
import { realTime } from "../kit/clock.ts";

export class Leases {
  readonly #held = new Map<string, { readonly until: number }>();

  take(name: string, for_ms: number): Lease | undefined {
    const now = realTime();
    if ((this.#held.get(name)?.until ?? now) > now) return undefined;
    const mine = { until: now + for_ms };
    this.#held.set(name, mine);
    return {
      release: async () => {
        if (this.#held.get(name) === mine) this.#held.delete(name);
      },
    };
  }
}
