// Leases of one process: whoever asks first holds the name until its time has come. They end with the process, which
// the port allows; stores that admit one process only need no more.

export class Leases {
  readonly #until = new Map<string, number>();

  take(name: string, now: number, until: number): boolean {
    if ((this.#until.get(name) ?? Number.NEGATIVE_INFINITY) > now) return false;
    this.#until.set(name, until);
    return true;
  }

  release(name: string): void {
    this.#until.delete(name);
  }
}
