// Arithmetic of scopes (spec part 5). `admin` contains the other scopes, on the side that asks as on the side that holds.
import { SCOPES, type Scope } from "../model.ts";

const KNOWN: ReadonlyMap<string, Scope> = new Map(SCOPES.map((scope) => [scope, scope]));

/** The scopes in a space-separated list, each once; a name that is no scope is answered as `unknown`. */
export function scopesIn(text: string): { readonly scopes: readonly Scope[] } | { readonly unknown: string } {
  const scopes = new Set<Scope>();
  for (const name of text.split(" ").filter((part) => part !== "")) {
    const scope = KNOWN.get(name);
    if (scope === undefined) return { unknown: name };
    scopes.add(scope);
  }
  return { scopes: [...scopes] };
}

/** What is left of the scopes asked for where only these are held, in the order of asking. */
export function cut(asked: readonly Scope[], held: readonly Scope[]): readonly Scope[] {
  if (held.includes("admin")) return asked;
  return asked.includes("admin") ? held : asked.filter((scope) => held.includes(scope));
}

/** Whether every scope asked for is held. */
export const within = (asked: readonly Scope[], held: readonly Scope[]): boolean =>
  held.includes("admin") || asked.every((scope) => held.includes(scope));
