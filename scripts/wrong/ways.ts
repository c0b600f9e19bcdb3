// What a fault is, and the few means by which one changes what goes by: what is asked, what is answered, what is delivered,
// and what the server hears of it. Which sentence each breaks stands in the lists beside this file.
import type { ServiceOptions } from "../../src/index.ts";
import { isMembers } from "../../test/support/client.ts";
import { objectIn } from "../../test/support/shown.ts";
import { KEY } from "../conformance/own.ts";
import type { Answer, Message, Send } from "./proxy.ts";

/** In place of `send`, which would let the message pass unchanged. */
export type Way = (asked: Message, send: Send) => Promise<Answer>;

export interface Wrong {
  readonly way?: Way;
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
export type Faults = Readonly<Record<string, Way | Wrong>>;

export const faultsOf = (faults: Faults): Fault[] =>
  Object.entries(faults).map(([name, wrong]) => {
    const {
      id = "",
      clause = "",
      says = "",
    } = /^(?<id>\S+) (?<clause>[^:]+): (?<says>.+)$/.exec(name)?.groups ?? {};
    return { id, clause, says, ...(typeof wrong === "function" ? { way: wrong } : wrong) };
  });

/** What stands instead of a member of JSON; it is gone where that is undefined. */
export type Change<T = unknown> = (value: T) => unknown;
export const gone: Change = () => undefined;
export const seconds: Change = (time) => Math.floor(Date.parse(String(time)) / 1_000);
export const unprefixed: Change = (id) => String(id).slice(4);
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
export const changed = <M extends { readonly body: string }>(
  message: M,
  path: string,
  change: Change,
): M =>
  isJson(message)
    ? { ...message, body: JSON.stringify(edited(objectIn(message.body), path, change)) }
    : message;

export const header = <M extends { readonly headers: Message["headers"] }>(
  message: M,
  name: string,
  value?: string | string[],
): M => ({ ...message, headers: { ...message.headers, [name]: value } });

const always = (_asked: Message): boolean => true;

/** `at`: "DELETE /apps/*", with `*` for any segment, below /v1; "EVENT app.deployed", a delivery of it; "", any request. */
function isAt(at: string, { method, url, secret, body }: Message): boolean {
  if (at === "") return secret === undefined;
  const path = url.replace(/\?.*/, "").replace(/^\/v1(?=\/)/, "");
  const place = secret === undefined ? `${method} ${path}` : `EVENT ${objectIn(body).type}`;
  return new RegExp(`^(${at.replaceAll("*", "[^/ ]+")})$`).test(place);
}

/** Any delivery. */
export const EVENT = "EVENT *";

/** Everything else passes. */
export const where =
  (at: string, way: Way, when = always): Way =>
  (asked, send) =>
    isAt(at, asked) && when(asked) ? way(asked, send) : send(asked);

/** The one in front of the other. */
export const both =
  (outer: Way, inner: Way): Way =>
  (asked, send) =>
    outer(asked, (message) => inner(message, send));

/** What is asked, or delivered, is changed first; the body of a delivery is signed as it then is. */
export const asks = (at: string, change: (asked: Message) => Message): Way =>
  where(at, (asked, send) => send(change(asked)));

export const asksJson = (at: string, path: string, change: Change): Way =>
  asks(at, (asked) => changed(asked, path, change));

/** With another query. */
export const asksQuery = (at: string, change: (query: URLSearchParams) => unknown): Way =>
  asks(at, (asked) => {
    const query = new URLSearchParams(asked.url.split("?")[1]);
    change(query);
    return { ...asked, url: asked.url.replace(/(\?.*)?$/, `?${query}`) };
  });

/** What is answered, or what the server makes of a receiver's answer. */
export const answers = (at: string, change: (answer: Answer) => Answer, when = always): Way =>
  where(at, async (asked, send) => change(await send(asked)), when);

/** What succeeded says something else. */
export const answersJson = (at: string, path: string, change: Change, when = always): Way =>
  answers(at, (answer) => (answer.status < 300 ? changed(answer, path, change) : answer), when);

/** Every app in every answer. */
export const apps = (path: string, change: Change): Way =>
  answersJson("(POST|GET) /apps|(GET|PATCH) /apps/*", "", (value) =>
    Array.isArray(Object(value).data)
      ? edited(value, "data", (list) => [list].flat().map((app) => edited(app, path, change)))
      : edited(value, path, change),
  );

const HEADERS = { "content-type": "application/json" };
export const bare = (status: number): Answer => ({ status, headers: HEADERS, body: "{}" });

/** It answers that and does nothing; a delivery with 200 is one that nobody hears of. */
export const refuses = (at: string, status: number, when = always): Way =>
  where(at, async () => bare(status), when);

const isRefused = (reason: string, { status, body }: Answer): boolean =>
  status >= 400 && body.includes(reason);

/** What is refused for that reason is done after all. */
export function lets(reason: string, at = "", when = always): Way {
  const way: Way = async (asked, send) => {
    const answer = await send(asked);
    return isRefused(reason, answer) ? send(as(asked, KEY)) : answer;
  };
  return where(at, way, when);
}

/** What is refused for that reason is answered in another way. */
export const instead = (reason: string, status: number): Way =>
  answers("", (answer) => (isRefused(reason, answer) ? { ...answer, status } : answer));

/** With another credential. */
export const as = (asked: Message, token: string): Message =>
  header(asked, "authorization", `Bearer ${token}`);

export const bearer = ({ headers }: Message): string =>
  String(headers.authorization).replace(/^Bearer /, "");
