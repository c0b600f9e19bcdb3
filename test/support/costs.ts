// Measures the costs of work.

/** Measures the duration, in milliseconds. */
export async function took(work: () => Promise<unknown>) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Measures the processor time in milliseconds, to which other programs add nothing. */
export async function processorTime(work: () => Promise<unknown>) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
