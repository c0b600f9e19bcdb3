// Rows that are for anybody and answer a call by themselves: health, the way home, the description of the API (contract, part
// 1), the endpoints of the authorization server.
import { type Call, empty, jsonReply, type Reply } from "./call.ts";
import { ADDRESSES } from "./links.ts";
import { RouteTree, type Row, type Way } from "./way.ts";

export interface OpenRow extends Row {
  answer(call: Call): Reply | Promise<Reply>;
}

export const openWay = (rows: readonly OpenRow[], refused: Way["refused"]): Way<OpenRow, null> => ({
  under: "",
  tree: new RouteTree(rows),
  enter: async () => null,
  perform: async (row, { call }) => row.answer(call),
  refused,
});

export const document = (path: string, answer: OpenRow["answer"]): OpenRow => ({ method: "GET", path, answer });

export const PLAIN_DOCUMENTS = [
  document(ADDRESSES.health, () => jsonReply(200, { status: "ok" }, { "cache-control": "no-store" })),
  document(ADDRESSES.home, () => empty(302, { location: ADDRESSES.dashboard })),
];
