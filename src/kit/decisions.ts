// The register of what the specification leaves open and what this server chose. A choice is declared where the code
// that runs on it stands; /docs and the README's table are made from this list, so neither can drift from the code.

export interface Decision {
  /** `<part>.<name>`: the part of the specification that leaves the point open. */
  readonly id: string;
  readonly open: string;
  readonly choice: unknown;
  readonly why: string;
}

const register = new Map<string, Decision>();

/** Records the decision and answers `choice`, which is what the code then runs on. An id may be used once. */
export function decide<const T>(id: string, choice: T, reason: { readonly open: string; readonly why: string }): T {
  if (register.has(id)) throw new Error(`The decision ${id} is declared twice`);
  register.set(id, { id, choice, ...reason });
  return choice;
}

/** All decisions in the order of the specification. */
export const decisions = (): readonly Decision[] =>
  [...register.values()].sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
