// What an account owns is read, listed, changed and removed in one way (contract, part 4): another account's record does
// not exist, and the caller's precondition (If-Match) is asked in the transaction that it is about, after everything else.
import type { Caller } from "./access.ts";
import { type Page, pageOf } from "./lists.ts";
import { type Expect, notFound, Refusal } from "./refusal.ts";
import type { Collection, Reader, Span, Stored } from "./store.ts";
import type { Unit, Work } from "./work.ts";

interface Owned extends Stored {
  readonly account_id: string;
}

/** What goes with a record, or why it has to stay. */
type Removing<R> = (w: Work, record: R, caller: Caller) => Promise<Refusal | undefined | void>;

/** `name` is what people call one of them. */
export function owned<R extends Owned, I extends string, U extends string>(
  from: Collection<R, I | "account", U>,
  name: string,
  removing?: Removing<R>,
) {
  const get = async (reader: Reader, caller: Caller, id: string): Promise<R | Refusal> => {
    const record = await reader.get(from, id);
    return record?.account_id === caller.account.id ? record : notFound(name);
  };

  /** Does `work` to the record; a refusal or a precondition that fails undoes it. */
  const act = <T>(
    unit: Unit,
    caller: Caller,
    id: string,
    expect: Expect<R>,
    work: (w: Work, record: R) => Promise<T | Refusal>,
  ) =>
    unit.transact<T>(async (w) => {
      const record = await get(w.tx, caller, id);
      if (record instanceof Refusal) return record;
      const done = await work(w, record);
      return done instanceof Refusal ? done : (expect(record) ?? done);
    });

  return {
    get,
    act,
    list: (reader: Reader, caller: Caller, span: Span): Promise<Page<R>> =>
      pageOf(reader, from, "account", [caller.account.id], span),
    remove: (unit: Unit, caller: Caller, id: string, expect: Expect<R>) =>
      act<null>(unit, caller, id, expect, async (w, record) => {
        const kept = await removing?.(w, record, caller);
        if (kept) return kept;
        await w.tx.remove(from, id);
        return null;
      }),
  };
}
