// This server with one fault, as the kit's target, and what the kit makes of it. It is started in this process behind a
// proxy, whose address is its public one.
import { closedPort } from "../../test/support/ports.ts";
import { judge } from "../conformance/judge.ts";
import { ownTarget } from "../conformance/own.ts";
import { access } from "./access.ts";
import { events } from "./events.ts";
import { startProxy } from "./proxy.ts";
import { resources } from "./resources.ts";
import { type Fault, faultsOf, type Wrong } from "./ways.ts";

/** In the order of the specification's parts. */
export const FAULTS: readonly Fault[] = faultsOf({ ...resources, ...access, ...events }).sort(
  (a, b) => a.clause.localeCompare(b.clause),
);

/** Without a fault it is right. */
export async function started(fault?: Wrong) {
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

/** By the clauses whose ids begin so: those that failed, each with its reason; `unseen`: where none did, how the fault went by. */
export async function judged(fault: Fault, clauses: string) {
  await using server = await started(fault);
  const { target, proxy } = server;
  const { results } = await judge(target, clauses);
  const failed = results.filter(({ verdict }) => verdict === "failed");
  const said = failed.map(({ id, why }) => `${id}: ${why.replaceAll(/\s+/g, " ").slice(0, 160)}`);
  const provoked = proxy.fired() > 0 || fault.options !== undefined;
  return { failed: said, unseen: provoked ? "survived" : "never provoked" };
}
