/** Measures the duration of work, in milliseconds. */
export async function took(work: () => Promise<unknown>) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
