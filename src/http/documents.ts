// Documents at one address each, for anybody: health, the way home, the description of the API (contract, part 1). Their way
// is also that of all addresses which nobody knows.
import { type Call, empty, jsonReply, type Reply } from "./call.ts";
import { ADDRESSES, type ServiceLinks } from "./links.ts";
import { problem } from "./problem.ts";
import { RouteTree, type Row, type Way } from "./way.ts";

interface Document extends Row {
  read(): Reply;
}

/** `nowhere`: what a person is shown where nothing is. */
export const documentWay = (
  links: ServiceLinks,
  rows: readonly Document[],
  nowhere: (call: Call) => Reply | undefined = () => undefined,
): Way<Document, null> => ({
  under: "",
  tree: new RouteTree(rows),
  enter: async () => null,
  perform: async (row) => row.read(),
  refused(refusal, call) {
    const shown = refusal.reason.code === "not_found" ? nowhere(call) : undefined;
    return shown ?? problem(refusal, call.id, links);
  },
});

export const document = (path: string, read: () => Reply): Document => ({ method: "GET", path, read });

export const PLAIN_DOCUMENTS = [
  document(ADDRESSES.health, () => jsonReply(200, { status: "ok" }, { "cache-control": "no-store" })),
  document(ADDRESSES.home, () => empty(302, { location: ADDRESSES.dashboard })),
];
