// Names that nothing else has taken, in this file, in another that runs at the same time, or in a run before it.
let made = 0;

/** Lower-case letters, digits and hyphens; fits into a host name, an address or a key. */
export function fresh(): string {
  made += 1;
  return `${process.pid.toString(36)}-${Date.now().toString(36)}-${made}`;
}

export const freshHost = (): string => `h${fresh()}.example.com`;
export const freshAddress = (): string => `user-${fresh()}@example.com`;
