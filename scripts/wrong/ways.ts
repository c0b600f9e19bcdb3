// What a fault is, and the few means by which one changes what goes by: what is asked, what is answered, what is delivered,
// and what the server hears of it. Which sentence each breaks stands in the lists beside this file.
import type { ServiceOptions } from "../../src/index.ts";
import { serviceSignature } from "../../src/kit/signature.ts";
import { isMembers, type Members } from "../../test/support/client.ts";
import { objectIn } from "../../test/support/shown.ts";
import type { Answer, Delivery, Message, Send } from "./proxy.ts";

/** What a fault knows of the server that it is in. */
export interface World {
  /** A key that opens everything. */
  key: string;
  /** The OAuth client's. */
  secret: string;
  /** What it remembers. */
  readonly kept: Map<unknown, string>;
}

/** In place of `send`, which would let the message pass unchanged. */
export type Way<M = Message> = (asked: M, send: Send<M>, world: World) => Promise<Answer>;

export interface Wrong {
  readonly api?: Way;
  readonly hook?: Way<Delivery>;
  /** What the server is started with. */
  readonly options?: ServiceOptions;
  /** What the base URL ends in. */
  readonly base?: string;
  /** Only somebody who waits for 30 seconds sees it. */
  readonly slow?: boolean;
}

export interface Fault extends Wrong {
  readonly id: string;
  /** The clause that it breaks. */
  readonly clause: string;
  readonly says: string;
}

/** Faults by "id clause: what is wrong". */
export type Faults = Readonly<Record<string, Wrong>>;

export const faultsOf = (faults: Faults): Fault[] =>
  Object.entries(faults).map(([name, wrong]) => {
    const { id = "", clause = "", says = "" } = /^(?<id>\S+) (?<clause>[^:]+): (?<says>.+)$/.exec(name)?.groups ?? {};
    return { id, clause, says, ...wrong };
  });

/** What stands instead of a member of JSON; it is gone where that is undefined. */
export type Change<T = unknown> = (value: T) => unknown;
export const gone: Change = () => undefined;
export const is =
  (value: unknown): Change =>
  () =>
    value;

/** Changes the member at a path such as "data.object.id"; the whole where it is "". */
export function edited(value: unknown, path: string, change: Change): unknown {
  if (path === "" || !isMembers(value)) return change(value);
  const [name = "", ...rest] = path.split(".");
  return { ...value, [name]: edited(value[name], rest.join("."), change) };
}

/** Whether that is JSON, and no page, form or nothing: whoever speaks here sends only objects. */
export const isJson = ({ body }: { readonly body: string }): boolean => body.startsWith("{");

/** With the JSON object in its body changed. */
export const changed = <M extends { readonly body: string }>(message: M, path: string, change: Change): M =>
  isJson(message) ? { ...message, body: JSON.stringify(edited(objectIn(message.body), path, change)) } : message;

export const header = <M extends { readonly headers: Message["headers"] }>(
  message: M,
  name: string,
  value?: string | string[],
): M => ({ ...message, headers: { ...message.headers, [name]: value } });

export type Judged = (asked: Message) => boolean;
const always: Judged = () => true;

/** `at`: method and path below /v1, `*` for any segment, as in "DELETE /apps/*"; everything where it is "". */
export function isAt(at: string, { method, url }: Message): boolean {
  const path = url.replace(/\?.*/, "").replace(/^\/v1(?=\/)/, "");
  return at === "" || new RegExp(`^(${at.replaceAll("*", "[^/ ]+")})$`).test(`${method} ${path}`);
}

/** What is asked is changed first. */
export const asks = (at: string, change: (asked: Message) => Message): Wrong => ({
  api: (asked, send) => send(isAt(at, asked) ? change(asked) : asked),
});

export const asksJson = (at: string, path: string, change: Change): Wrong =>
  asks(at, (asked) => changed(asked, path, change));

/** With another query. */
export const asksQuery = (at: string, change: (query: URLSearchParams) => unknown): Wrong =>
  asks(at, (asked) => {
    const query = new URLSearchParams(asked.url.split("?")[1]);
    change(query);
    return { ...asked, url: asked.url.replace(/(\?.*)?$/, `?${query}`) };
  });

export const answers = (at: string, change: (answer: Answer) => Answer, when = always): Wrong => ({
  async api(asked, send) {
    const answer = await send(asked);
    return isAt(at, asked) && when(asked) ? change(answer) : answer;
  },
});

/** What succeeded says something else. */
export const answersJson = (at: string, path: string, change: Change, when = always): Wrong =>
  answers(at, (answer) => (answer.status < 300 ? changed(answer, path, change) : answer), when);

/** Every app in every answer. */
export const apps = (path: string, change: Change): Wrong =>
  answersJson("(POST|GET) /apps|(GET|PATCH) /apps/*", "", (value) =>
    Array.isArray(Object(value).data)
      ? edited(value, "data", (list) => [list].flat().map((app) => edited(app, path, change)))
      : edited(value, path, change),
  );

export const bare = (status: number, body = "{}"): Answer => ({
  ...{ status, headers: { "content-type": "application/json" }, body },
});

/** It answers that and does nothing. */
export const refuses = (at: string, status: number, when = always): Wrong => ({
  api: async (asked, send) => (isAt(at, asked) && when(asked) ? bare(status) : send(asked)),
});

const isRefused = (reason: string, { status, body }: Answer): boolean => status >= 400 && body.includes(reason);

/** What is refused for that reason is done after all. */
export const lets = (reason: string, at = "", when = always): Wrong => ({
  async api(asked, send, { key }) {
    const answer = await send(asked);
    return isRefused(reason, answer) && isAt(at, asked) && when(asked) ? send(as(asked, `Bearer ${key}`)) : answer;
  },
});

/** What is refused for that reason is answered in another way. */
export const instead = (reason: string, status: number): Wrong =>
  answers("", (answer) => (isRefused(reason, answer) ? { ...answer, status } : answer));

/** With another Authorization header. */
export const as = (asked: Message, authorization: string): Message => header(asked, "authorization", authorization);

export const bearer = ({ headers }: Message): string => String(headers.authorization).replace(/^Bearer /, "");

/** Every delivery, as it goes out. */
export const delivers = (change: (delivery: Delivery) => Delivery): Wrong => ({
  hook: (delivery, send) => send(change(delivery)),
});

export const signed = (delivery: Delivery, body: string): Delivery =>
  header({ ...delivery, body }, "x-service-signature", serviceSignature(body, delivery.secret));

/** Events of that type, or of all where it is ""; well signed. */
export const tells = (type: string, path: string, change: Change): Wrong =>
  delivers((delivery) => {
    const event = objectIn(delivery.body);
    const isMeant = type === "" || type === event.type;
    return isMeant ? signed(delivery, JSON.stringify(edited(event, path, change))) : delivery;
  });

/** Nobody hears of these events, and the server does not know. */
export const drops = (when: (event: Members) => boolean): Wrong => ({
  hook: async (delivery, send) => (when(objectIn(delivery.body)) ? bare(200) : send(delivery)),
});

/** What the server makes of what the receiver answered. */
export const takes = (heard: (status: number) => number): Wrong => ({
  async hook(delivery, send) {
    const answer = await send(delivery);
    return { ...answer, status: heard(answer.status) };
  },
});
