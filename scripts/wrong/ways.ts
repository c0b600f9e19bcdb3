// The types of a fault, and helpers that change requests, responses and deliveries on their way through the proxy. The
// lists beside this file name the sentence that each fault breaks.
import type { ServiceOptions } from "../../src/index.ts";
import { isMembers } from "../../test/support/client.ts";
import { objectIn } from "../../test/support/shown.ts";
import { KEY } from "../conformance/own.ts";
import type { Answer, Message, Send } from "./proxy.ts";

/** Replaces `send`, which would pass the message unchanged. */
export type Way = (asked: Message, send: Send) => Promise<Answer>;

export interface Wrong {
  readonly way?: Way;
  /** Start options of the server. */
  readonly options?: ServiceOptions;
  /** The suffix of the base URL. */
  readonly base?: string;
  /** Only a client that waits 30 seconds can see the fault. */
  readonly slow?: boolean;
}

export interface Fault extends Wrong {
  readonly id: string;
  /** The clause that the fault breaks. */
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

/** Returns the new value of a JSON member; undefined removes the member. */
export type Change<T = unknown> = (value: T) => unknown;
export const gone: Change = () => undefined;
export const seconds: Change = (time) => Math.floor(Date.parse(String(time)) / 1_000);
export const unprefixed: Change = (id) => String(id).slice(4);
export const is =
  (value: unknown): Change =>
  () =>
    value;

/** Changes the member at a path such as "data.object.id"; "" changes the whole value. */
export function edited(value: unknown, path: string, change: Change): unknown {
  if (path === "" || !isMembers(value)) return change(value);
  const [name = "", ...rest] = path.split(".");
  return { ...value, [name]: edited(value[name], rest.join("."), change) };
}

/** Checks for JSON, as opposed to a page, a form or no body; every JSON body here is an object. */
export const isJson = ({ body }: { readonly body: string }): boolean => body.startsWith("{");

/** The message with the JSON object in its body changed. */
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

/**
 * `at`: "DELETE /apps/*", with `*` for any segment, below /v1; "EVENT app.deployed", a delivery of it; "", any request.
 */
function isAt(at: string, { method, url, secret, body }: Message): boolean {
  if (at === "") return secret === undefined;
  const path = url.replace(/\?.*/, "").replace(/^\/v1(?=\/)/, "");
  const place = secret === undefined ? `${method} ${path}` : `EVENT ${objectIn(body).type}`;
  return new RegExp(`^(${at.replaceAll("*", "[^/ ]+")})$`).test(place);
}

/** Matches any delivery. */
export const EVENT = "EVENT *";

/** Applies `way` to matching messages and passes all others. */
export const where =
  (at: string, way: Way, when = always): Way =>
  (asked, send) =>
    isAt(at, asked) && when(asked) ? way(asked, send) : send(asked);

/** Chains `outer` in front of `inner`. */
export const both =
  (outer: Way, inner: Way): Way =>
  (asked, send) =>
    outer(asked, (message) => inner(message, send));

/** Changes a request or delivery before it is sent; a delivery is signed again with its new body. */
export const asks = (at: string, change: (asked: Message) => Message): Way =>
  where(at, (asked, send) => send(change(asked)));

export const asksJson = (at: string, path: string, change: Change): Way =>
  asks(at, (asked) => changed(asked, path, change));

/** Changes the query of a request. */
export const asksQuery = (at: string, change: (query: URLSearchParams) => unknown): Way =>
  asks(at, (asked) => {
    const query = new URLSearchParams(asked.url.split("?")[1]);
    change(query);
    return { ...asked, url: asked.url.replace(/(\?.*)?$/, `?${query}`) };
  });

/** Changes a response, or a receiver's response before the server sees it. */
export const answers = (at: string, change: (answer: Answer) => Answer, when = always): Way =>
  where(at, async (asked, send) => change(await send(asked)), when);

/** Changes a member of successful JSON responses. */
export const answersJson = (at: string, path: string, change: Change, when = always): Way =>
  answers(at, (answer) => (answer.status < 300 ? changed(answer, path, change) : answer), when);

/** Changes every app in every response. */
export const apps = (path: string, change: Change): Way =>
  answersJson("(POST|GET) /apps|(GET|PATCH) /apps/*", "", (value) =>
    Array.isArray(Object(value).data)
      ? edited(value, "data", (list) => [list].flat().map((app) => edited(app, path, change)))
      : edited(value, path, change),
  );

const HEADERS = { "content-type": "application/json" };
export const bare = (status: number): Answer => ({ status, headers: HEADERS, body: "{}" });

/** Responds with this status and passes nothing on; for a delivery, 200 silently drops it. */
export const refuses = (at: string, status: number, when = always): Way =>
  where(at, async () => bare(status), when);

const isRefused = (reason: string, { status, body }: Answer): boolean =>
  status >= 400 && body.includes(reason);

/** Retries a request that failed for this reason with the full-access key. */
export function lets(reason: string, at = "", when = always): Way {
  const way: Way = async (asked, send) => {
    const answer = await send(asked);
    return isRefused(reason, answer) ? send(as(asked, KEY)) : answer;
  };
  return where(at, way, when);
}

/** Replaces the status of errors with this reason. */
export const instead = (reason: string, status: number): Way =>
  answers("", (answer) => (isRefused(reason, answer) ? { ...answer, status } : answer));

/** The message with another credential. */
export const as = (asked: Message, token: string): Message =>
  header(asked, "authorization", `Bearer ${token}`);

export const bearer = ({ headers }: Message): string =>
  String(headers.authorization).replace(/^Bearer /, "");
