// Patches that a faulty server applies to requests, responses and deliveries on their way through the proxy. The tables
// beside this file name the sentence that each fault breaks.
import type { IncomingHttpHeaders } from "node:http";
import type { ServiceOptions } from "../../src/index.ts";
import { isMembers } from "../../test/support/client.ts";
import { objectIn } from "../../test/support/shown.ts";
import { KEY } from "../conformance/own.ts";

export interface ProxyRequest {
  readonly method: string;
  /** Path and query at the server; the full URL for a delivery. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The webhook's secret, if this is a delivery. */
  readonly secret?: string;
}

export interface ProxyResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Send = (request: ProxyRequest) => Promise<ProxyResponse>;

/** Replaces `send`, which would pass the request unchanged. */
export type Patch = (request: ProxyRequest, send: Send) => Promise<ProxyResponse>;

export interface FaultyServer {
  readonly patch?: Patch;
  /** Start options of the server. */
  readonly options?: ServiceOptions;
  /** The suffix of the base URL. */
  readonly base?: string;
  /** Only a client that waits 30 seconds can see the fault. */
  readonly slow?: boolean;
}

export interface Fault extends FaultyServer {
  readonly id: string;
  /** The clause that the fault breaks. */
  readonly clause: string;
  readonly says: string;
}

/** Faults by "id clause: description". */
export type FaultTable = Readonly<Record<string, Patch | FaultyServer>>;

export const parseFaults = (faults: FaultTable): Fault[] =>
  Object.entries(faults).map(([name, fault]) => {
    const [, id = "", clause = "", says = ""] = /^(\S+) ([^:]+): (.+)$/.exec(name) ?? [];
    return { id, clause, says, ...(typeof fault === "function" ? { patch: fault } : fault) };
  });

/** The new value of a JSON member, or a function of the former one; undefined removes the member. */
export type Change = ((value: unknown) => unknown) | string | boolean | object | null | undefined;
export const toSeconds = (time: unknown) => Math.floor(Date.parse(String(time)) / 1_000);
export const withoutPrefix = (id: unknown) => String(id).slice(4);
export const rename = (name: string, other: string) => (value: unknown) => ({
  ...Object(value),
  [name]: undefined,
  [other]: Object(value)[name],
});

/** Changes the member at a path such as "data.object.id"; "" changes the whole value. */
function setMember(value: unknown, path: string, change: Change): unknown {
  if (path === "" || !isMembers(value))
    return typeof change === "function" ? change(value) : change;
  const [name = "", ...rest] = path.split(".");
  return { ...value, [name]: setMember(value[name], rest.join("."), change) };
}

/** Checks for JSON, as opposed to a page, a form or no body; every JSON body here is an object. */
export const isJson = ({ body }: { readonly body: string }): boolean => body.startsWith("{");

/** Returns the message with the JSON object in its body changed. */
export const withBody = <M extends { readonly body: string }>(
  message: M,
  path: string,
  change: Change,
): M =>
  isJson(message)
    ? { ...message, body: JSON.stringify(setMember(objectIn(message.body), path, change)) }
    : message;

export const withHeader = <M extends { readonly headers: IncomingHttpHeaders }>(
  message: M,
  name: string,
  value?: string | string[],
): M => ({ ...message, headers: { ...message.headers, [name]: value } });

const always = (_request: ProxyRequest): boolean => true;

/** Any delivery. */
export const EVENT = "EVENT *";

/**
 * Whether the request matches a place: "DELETE /apps/*" below /v1, with `*` for any segment; "EVENT app.deployed" for
 * its deliveries; "" for any request that is not a delivery.
 */
function matches(place: string, { method, url, secret, body }: ProxyRequest) {
  if (place === "") return secret === undefined;
  const path = url.replace(/\?.*/, "").replace(/^\/v1(?=\/)/, "");
  const actual = secret === undefined ? `${method} ${path}` : `EVENT ${objectIn(body).type}`;
  return new RegExp(`^(${place.replaceAll("*", "[^/ ]+")})$`).test(actual);
}

/** Applies the patch to matching requests and passes all others. */
export const on =
  (place: string, patch: Patch, when = always): Patch =>
  (request, send) =>
    matches(place, request) && when(request) ? patch(request, send) : send(request);

/** Chains `outer` in front of `inner`. */
export const compose =
  (outer: Patch, inner: Patch): Patch =>
  (request, send) =>
    outer(request, (changed) => inner(changed, send));

/** Changes a request or delivery before it is sent; a delivery is signed again with its new body. */
export const patchRequest = (place: string, change: (request: ProxyRequest) => ProxyRequest) =>
  on(place, (request, send) => send(change(request)));

export const patchRequestBody = (place: string, path: string, change: Change): Patch =>
  patchRequest(place, (request) => withBody(request, path, change));

export const patchQuery = (place: string, change: (query: URLSearchParams) => unknown): Patch =>
  patchRequest(place, (request) => {
    const query = new URLSearchParams(request.url.split("?")[1]);
    change(query);
    return { ...request, url: request.url.replace(/(\?.*)?$/, `?${query}`) };
  });

/** Changes a response, or a receiver's response before the server sees it. */
export const patchResponse = (
  place: string,
  change: (response: ProxyResponse) => ProxyResponse,
  when = always,
): Patch => on(place, async (request, send) => change(await send(request)), when);

/** Changes a member of successful JSON responses. */
export const patchResponseBody = (place: string, path: string, change: Change, when = always) =>
  patchResponse(
    place,
    (response) => (response.status < 300 ? withBody(response, path, change) : response),
    when,
  );

/** Changes every app in every response. */
export const patchApps = (path: string, change: Change): Patch =>
  patchResponseBody("(POST|GET) /apps|(GET|PATCH) /apps/*", "", (value) =>
    isMembers(value) && Array.isArray(value.data)
      ? { ...value, data: value.data.map((app) => setMember(app, path, change)) }
      : setMember(value, path, change),
  );

const JSON_HEADERS = { "content-type": "application/json" };
export const emptyObject = (status: number): ProxyResponse => ({
  status,
  headers: JSON_HEADERS,
  body: "{}",
});

/** Responds with this status and passes nothing on; for a delivery, 200 silently drops it. */
export const respondWith = (place: string, status: number, when = always): Patch =>
  on(place, async () => emptyObject(status), when);

const isErrorWith = (reason: string, { status, body }: ProxyResponse) =>
  status >= 400 && body.includes(reason);

/** Retries a request that failed for this reason with the full-access key. */
export const allow = (reason: string, place = "", when = always): Patch =>
  on(
    place,
    async (request, send) => {
      const response = await send(request);
      return isErrorWith(reason, response) ? send(withToken(request, KEY)) : response;
    },
    when,
  );

/** Replaces the status of errors with this reason. */
export const replaceStatus = (reason: string, status: number): Patch =>
  patchResponse("", (response) =>
    isErrorWith(reason, response) ? { ...response, status } : response,
  );

export const withToken = (request: ProxyRequest, token: string): ProxyRequest =>
  withHeader(request, "authorization", `Bearer ${token}`);

export const tokenIn = ({ headers }: ProxyRequest) =>
  String(headers.authorization).replace(/^Bearer /, "");
