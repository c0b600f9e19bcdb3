// Who goes next: accounts take turns, and within an account its webhooks take turns, so that whoever has much waiting
// delays nobody who has little.

export class FairQueue<T> {
  readonly #accounts = new Map<string, Set<T>>();

  add(account: string, item: T): void {
    const items = this.#accounts.get(account);
    if (items) items.add(item);
    else this.#accounts.set(account, new Set([item]));
  }

  remove(account: string, item: T): void {
    const items = this.#accounts.get(account);
    if (items?.delete(item) && items.size === 0) this.#accounts.delete(account);
  }

  /** The longest-waiting item of the account whose turn it is; that account then goes to the end. */
  take(): T | undefined {
    for (const [account, items] of this.#accounts)
      for (const item of items) {
        this.remove(account, item);
        if (items.size > 0 && this.#accounts.size > 1) {
          this.#accounts.delete(account);
          this.#accounts.set(account, items);
        }
        return item;
      }
    return undefined;
  }
}
