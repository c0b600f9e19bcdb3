// Starts this server with one fault as a target of the kit, and runs the kit against it. It runs in this process behind
// a proxy, whose address is the public URL.
import { closedPort } from "../../test/support/ports.ts";
import { judge } from "../conformance/judge.ts";
import { ownTarget } from "../conformance/own.ts";
import { access } from "./access.ts";
import { events } from "./events.ts";
import { type Fault, type FaultyServer, parseFaults } from "./patches.ts";
import { startProxy } from "./proxy.ts";
import { resources } from "./resources.ts";

/** All faults, in the order of the specification's parts. */
export const FAULTS: readonly Fault[] = parseFaults({ ...resources, ...access, ...events }).sort(
  (a, b) => a.clause.localeCompare(b.clause),
);

/** Starts the server; without a fault it is correct. */
export async function startFaultyServer(fault?: FaultyServer) {
  const port = await closedPort();
  const proxy = await startProxy(port, fault);
  const own = await ownTarget({ port, publicUrl: proxy.url, ...fault?.options });
  const target = {
    ...own.target,
    slow: fault?.slow,
    ...(fault?.base && { "base-url": proxy.url + fault.base }),
  };
  const close = async () => {
    proxy.close();
    await own[Symbol.asyncDispose]();
  };
  return { ...own, target, proxy, [Symbol.asyncDispose]: close };
}

/**
 * Runs the clauses whose ids start with `clauses`; returns the failed ones with reasons. `unseen`: how the fault got by
 * if none failed.
 */
export async function judgeFault(fault: Fault, clauses: string) {
  await using server = await startFaultyServer(fault);
  const { target, proxy } = server;
  const { results } = await judge(target, clauses);
  const failed = results.filter(({ verdict }) => verdict === "failed");
  const said = failed.map(({ id, why }) => `${id}: ${why.replaceAll(/\s+/g, " ").slice(0, 160)}`);
  const provoked = proxy.patched() > 0 || fault.options !== undefined;
  return { failed: said, unseen: provoked ? "survived" : "never provoked" };
}
