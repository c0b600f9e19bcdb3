// One call of a browser: its cookie, who is signed in by it, and whether a form that it posts is ours. Every form carries a
// token derived from the cookie, which no other site can read, and its Origin must be this server (contract, part 5; RFC
// 9700 4.7). Only pages look at cookies; the REST API never does. And the way in which all pages answer visits.
import { MIMEType } from "node:util";
import { sha256 } from "../domain/access.ts";
import type { Context } from "../domain/oauth/access-tokens.ts";
import { Refusal } from "../domain/refusal.ts";
import { sessionOf } from "../domain/users.ts";
import { Unit } from "../domain/work.ts";
import type { ApiParts } from "../http/api.ts";
import { type Call, hostOf, portOf, type Reply } from "../http/call.ts";
import { ADDRESSES } from "../http/links.ts";
import type { Operation } from "../http/route.ts";
import { type Answer, RouteTree, type Row, type Way } from "../http/way.ts";
import { type Fields, fieldsOf, gathered } from "../kit/form.ts";
import { isLoopbackHost } from "../kit/loopback.ts";
import { hidden, html, link, type Shown } from "./html.ts";
import { messagePage, refused, unlessKnown } from "./page.ts";

/** What pages are made with. */
export interface WebParts extends ApiParts {
  readonly oauth: Context;
  /** The REST API's, as this service reads them. */
  readonly operations: readonly Operation[];
  /** The waits between the attempts of a delivery. */
  readonly retryWaits_ms: readonly number[];
  /** What forms that were posted have been answered, the oldest first. */
  readonly answers: Map<string, Promise<Answer>>;
  /** Whether only this machine reaches the server. */
  readonly isLocal: boolean;
  /** Shows one line to whoever runs the server. */
  readonly announce: (line: string) => void;
}

/** What a form holds beside the data that an operation takes. */
const FORM_BYTES = 65_536;
/** Browsers send the cookies of a host to all of its ports, so the port stands in the name: several instances keep apart. */
const COOKIE = "apphost_session";

export type Sent = ReadonlyMap<string, string>;
export type Visit = Awaited<ReturnType<typeof visitOf>>;

async function visitOf(parts: WebParts, call: Call) {
  const { unit, services } = parts;
  const { authUrl } = services.links;
  const secure = authUrl.startsWith("https:");
  const port = portOf(call) || (secure ? "443" : "80");
  const name = `${secure ? "__Host-" : ""}${COOKIE}_${port}`;
  /** Without a secret the cookie is gone after this. */
  const cookieOf = (secret = ""): Record<string, string> => ({
    "set-cookie": `${name}=${secret}; Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}${secret ? "" : "; Max-Age=0"}`,
  });
  const sent = new RegExp(`(?:^|;) *${name}=([\\w-]{43}) *(?:;|$)`).exec(call.values("cookie").join(";"))?.[1];
  // Made now where the browser has none: a form needs one before anybody is signed in.
  const secret = sent ?? unit.ids.secret();
  const csrf = sha256(`csrf ${secret}`);
  const query = fieldsOf(call.query).values;

  /** Runs on what the query says, or on a form of one of our own pages, stale where it is harmless; or why it is not taken. */
  async function withSent(run: (sent: Sent) => Promise<Answer>, more_bytes = 0, isHarmless = false): Promise<Answer> {
    if (call.method !== "POST") return run(query);
    // A server may be reached under more names than its public one: the name in use is as good.
    const own: readonly string[] = [authUrl, `http://${call.host}`, `https://${call.host}`];
    // Browsers send an Origin; scripts that send none still need the cookie and the token made from it.
    if (!call.values("origin").every((origin) => own.includes(origin))) return STALE;
    const body = await call.body(FORM_BYTES + more_bytes);
    if (body instanceof Refusal) return body;
    const fields = await fieldsIn(body, call.values("content-type"));
    if (fields === undefined) return NO_FORM;
    const { values, repeated } = fields;
    const isOurs = repeated.size === 0 && sha256(values.get("csrf") ?? "") === sha256(csrf);
    return isOurs || isHarmless ? run(values) : STALE;
  }

  return {
    ...{ ...parts, ...services, call, secret, cookieOf, withSent, query, store: unit.store },
    unit: new Unit(unit, call.id),
    signedIn: sent === undefined ? undefined : await sessionOf(unit.store, sent, unit.clock.now()),
    /** To be sent with a page that holds a form. */
    setCookie: sent === undefined ? cookieOf(secret) : {},
    /** With the hidden field that every form needs. */
    form: (action: string, fields: Shown, look = "") =>
      html`<form method="post" action="${action}" enctype="multipart/form-data" class="${look}">${hidden("csrf", csrf)}${fields}</form>`,
  };
}

/** More than any form of ours has: to read a field takes a thousand times as long as to send it. */
const FIELDS_MAX = 1_000;

/** A file in a form is read as text, because that is all this service takes; undefined where it is none, or no form. */
async function fieldsIn(body: Buffer, [given = ""]: readonly string[]): Promise<Fields | undefined> {
  try {
    const type = new MIMEType(given);
    const separator = type.essence === "multipart/form-data" ? (type.params.get("boundary") ?? "") : "&";
    if (body.toString("latin1").split(separator, FIELDS_MAX + 1).length > FIELDS_MAX) return undefined;
    const form = await new Response(body, { headers: { "content-type": String(type) } }).formData();
    const pairs = Array.from(form, async ([name, value]) => {
      return [name, typeof value === "string" ? value : UTF_8.decode(await value.arrayBuffer())] as const;
    });
    return gathered(await Promise.all(pairs));
  } catch {
    return undefined; // no form by its type or its content, or bytes that are not UTF-8
  }
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true });

const UTF_8_ONLY = "It takes what its own page sends; a file has to be UTF-8.";
const NO_FORM = messagePage(415, "This form cannot be read", UTF_8_ONLY);
const AGAIN = "Nothing was changed. Load the page here again and repeat it.";
const STALE = messagePage(403, "This form is out of date, or from another site", AGAIN);

/** A number of rows, records or places. */
export const countIn = (sent: Sent, name: string): number | undefined =>
  /^\d{1,9}$/.test(sent.get(name) ?? "") ? Number(sent.get(name)) : undefined;

/** The pages on which a person decides something without a password. */
const OWN_HOST_ONLY = /^\/(dashboard|oauth\/authorize|oauth\/consent)(\/|$)/;

/**
 * A web page can have its own host name resolve to this machine (DNS rebinding) and then read what the server answers
 * under that name. So these pages of a server that only this machine reaches have names of this machine only.
 */
const isRebound = ({ isLocal }: WebParts, call: Call): boolean =>
  isLocal && OWN_HOST_ONLY.test(call.path) && !isLoopbackHost(hostOf(call));

function wrongHost({ services: { links } }: WebParts): Reply {
  const own = links.authUrl + ADDRESSES.dashboard;
  return messagePage(403, "This page is not available under this host name", [
    "Open ",
    link(own, own),
    " instead. Behind a proxy or a tunnel, start the server with --public-url.",
  ]);
}

/** The way of the pages below an address, or of those that have one of their own. */
export const pageWay = <R extends Row>(
  parts: WebParts,
  under: string,
  rows: readonly R[],
  perform: Way<R, Visit>["perform"],
): Way<R, Visit> => ({
  under,
  tree: new RouteTree(rows.map((row) => ({ ...row, path: row.path.slice(under.length) }))),
  enter: async (call) => (isRebound(parts, call) ? wrongHost(parts) : { who: await visitOf(parts, call) }),
  perform: async (row, request) => unlessKnown(request.call, await perform(row, request)),
  refused,
});

/** A page at an address of its own; `sent` is what its query says, or the form that was posted. */
export interface PageRow extends Row {
  answer(visit: Visit, sent: Sent): Promise<Answer>;
}
