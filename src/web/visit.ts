// One call of a browser: its cookie, who is signed in by it, and whether a form that it posts is ours. Every form carries a
// token derived from the cookie, which no other site can read, and its Origin must be this server (contract, part 5; RFC
// 9700 4.7). Only pages look at cookies; the REST API never does.
import { sha256 } from "../domain/access.ts";
import { Refusal } from "../domain/refusal.ts";
import { type SignedIn, sessionOf } from "../domain/users.ts";
import type { UnitParts } from "../domain/work.ts";
import type { Call, Reply } from "../http/call.ts";
import { type Fields, gathered } from "../kit/form.ts";
import { type Html, html } from "./html.ts";
import { messagePage } from "./page.ts";

const FORM_BYTES = 65_536;
/** A name of its own, since cookies of all ports of a host share one space. */
const COOKIE = "apphost_session";

export interface Visit {
  readonly call: Call;
  readonly signedIn: SignedIn | undefined;
  /** The cookie's secret, made now where the browser has none: a form needs one before anybody is signed in. */
  readonly secret: string;
  /** To be sent with a page that holds a form. */
  readonly setCookie: Reply["headers"];
  /** The hidden field that every form needs. */
  readonly csrfField: Html;
}

export type Sent = ReadonlyMap<string, string>;

export class Visits {
  readonly #unit: UnitParts;
  readonly #authUrl: string;
  readonly #name: string;
  readonly #attributes: string;

  /** `authUrl` is `{auth_url}`. */
  constructor(unit: UnitParts, authUrl: string) {
    const secure = authUrl.startsWith("https:");
    this.#unit = unit;
    this.#authUrl = authUrl;
    this.#name = secure ? `__Host-${COOKIE}` : COOKIE;
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  }

  async of(call: Call): Promise<Visit> {
    const { store, clock, ids } = this.#unit;
    const sent = cookie(call, this.#name);
    const secret = sent ?? ids.secret();
    const signedIn = sent === undefined ? undefined : await sessionOf(store, sent, clock.now());
    const setCookie = sent === undefined ? this.cookieOf(secret) : {};
    const csrfField = html`<input type="hidden" name="csrf" value="${csrfToken(secret)}">`;
    return { call, signedIn, secret, setCookie, csrfField };
  }

  /** Without a secret the cookie is gone after this. */
  cookieOf(secret = ""): Record<string, string> {
    return { "set-cookie": `${this.#name}=${secret}; ${this.#attributes}${secret === "" ? "; Max-Age=0" : ""}` };
  }

  /** Runs on what a form carries that was posted from one of our own pages, or answers why it is not taken. */
  async posted(visit: Visit, run: (sent: Sent) => Promise<Reply>, limit_bytes = FORM_BYTES): Promise<Reply> {
    const { call, secret } = visit;
    // Browsers send an Origin; scripts that send none still need the cookie and the token made from it.
    if (!call.values("origin").every((origin) => this.#own(origin, call))) return FOREIGN;
    const body = await call.body(limit_bytes);
    if (body instanceof Refusal) return TOO_LARGE;
    const fields = await fieldsIn(body, call.values("content-type"));
    if (fields === undefined) return NO_FORM;
    const { values, repeated } = fields;
    const ours = repeated.size === 0 && sha256(values.get("csrf") ?? "") === sha256(csrfToken(secret));
    return ours ? run(values) : STALE;
  }

  /** A server may be reached under more names than its public one: the name in use is as good. */
  #own(origin: string, call: Call): boolean {
    const { host } = call.headers;
    return [this.#authUrl, `http://${host}`, `https://${host}`].includes(origin);
  }
}

/** A file in a form is read as text, because that is all this service takes; undefined where it is none, or no form. */
async function fieldsIn(body: Buffer, [type = ""]: readonly string[]): Promise<Fields | undefined> {
  try {
    const form = await new Response(body, { headers: { "content-type": type } }).formData();
    const pairs = Array.from(form, async ([name, value]) => {
      return [name, typeof value === "string" ? value : UTF_8.decode(await value.arrayBuffer())] as const;
    });
    return gathered(await Promise.all(pairs));
  } catch {
    return undefined; // no form by its type or its content, or bytes that are not UTF-8
  }
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true });

const NO_FORM = messagePage(
  415,
  "This form cannot be read",
  "It takes what its own page sends; a file has to be UTF-8.",
);
const TOO_LARGE = messagePage(413, "That was too much", "The form is larger than this page takes.");
const AGAIN = "Nothing was changed. Load the page here again and repeat it.";
const FOREIGN = messagePage(403, "This form came from another site", AGAIN);
const STALE = messagePage(403, "This form is out of date", AGAIN);

const csrfToken = (secret: string): string => sha256(`csrf ${secret}`);

function cookie(call: Call, name: string): string | undefined {
  for (const pair of call.values("cookie").flatMap((line) => line.split(";"))) {
    const [key = "", ...value] = pair.split("=");
    if (key.trim() === name) return /^[A-Za-z0-9_-]{43}$/.exec(value.join("=").trim())?.[0];
  }
  return undefined;
}

/** A path on this server, as a browser would read it; undefined for anything that leads elsewhere. */
export function ownPath(path: string | undefined): string | undefined {
  const base = "http://own.invalid";
  if (path === undefined || !path.startsWith("/") || !URL.canParse(path, base)) return undefined;
  const { origin, pathname, search } = new URL(path, base);
  return origin === base && !pathname.startsWith("//") ? pathname + search : undefined;
}
