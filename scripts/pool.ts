// Processes many items with limited concurrency.

/** Returns the results in the order of the items. */
export async function pool<T, R>(
  atOnce: number,
  items: Iterable<T>,
  work: (item: T) => R | Promise<R>,
) {
  const results: R[] = [];
  const queue = items[Symbol.iterator]();
  let next = 0;
  const worker = async () => {
    for (let item = queue.next(); !item.done; item = queue.next()) {
      const at = next++;
      results[at] = await work(item.value);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
