// A headless browser in plain HTTP: keeps cookies, follows redirects within the server under test, fills in and submits
// forms as HTML specifies. It stops at a redirect to another server, so that a test can read it.
import assert from "node:assert/strict";
import type { Answer, Client, SentHeaders } from "./client.ts";

const REDIRECTS_MAX = 5;
export const SIGN_IN = "/dashboard/sign-in";

type Fields = Readonly<Record<string, string>>;

export class Browser {
  origin: string;
  readonly cookies = new Map<string, string>();
  readonly #root: Client;

  /** `api` is a client of the REST API; the browser uses the root of the same server. */
  constructor(api: Client) {
    this.#root = api.root.as(null);
    this.origin = new URL(api.baseUrl).origin;
  }

  /** Sends one request and follows no redirect. */
  async request(method: string, url: string, headers: SentHeaders = {}, body?: string | Buffer) {
    const { pathname, search, origin } = new URL(url, this.origin);
    assert.equal(origin, this.origin, `${url} leads elsewhere`);
    const cookie = [...this.cookies].map((pair) => pair.join("=")).join("; ");
    const answer = await this.#root.send(method, pathname + search, {
      headers: cookie === "" ? headers : { cookie, ...headers },
      ...(body !== undefined && { body }),
    });
    for (const line of answer.headers["set-cookie"] ?? []) this.#keep(line);
    return answer;
  }

  /** Opens a page; returns a redirect to another server as it is. */
  open(url: string) {
    return this.request("GET", url).then((answer) => this.#follow(answer));
  }

  /** Signs in as the user with this e-mail address, or as the first user; follows no redirect. */
  async signIn(email = "", next = "/dashboard") {
    const url = `${SIGN_IN}?${new URLSearchParams({ next })}`;
    return this.continueAs(await this.request("GET", url), email);
  }

  /** Presses the button of a user on the sign-in page. */
  continueAs(page: Answer, email = "") {
    const [form] = formsOf(page);
    const user = usersOn(page).find(({ label }) => label.endsWith(email));
    assert.ok(form && user, `no button for ${email} in ${page.text}`);
    return this.post(form.action, { ...form.fields, user_id: user.id });
  }

  /** Fills in the first form of the page that posts to `action`, and presses a button. */
  async submit(page: Answer, action: string, filled: Fields) {
    const form = formsOf(page).find((candidate) => candidate.action === action);
    assert.ok(form, `no form to ${action} in ${page.text}`);
    return this.#follow(await this.post(form.action, { ...form.fields, ...filled }));
  }

  /** Opens the page, fills in its form that posts to the same address, and presses a button. */
  async fillIn(path: string, filled: Fields = {}) {
    return this.submit(await this.open(path), path, filled);
  }

  /** Sends a form as this browser would, from a page of `origin`. */
  post(path: string, fields: Fields, origin: string | null = this.origin, more: SentHeaders = {}) {
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      ...(origin !== null && { origin }),
      ...more,
    };
    return this.request("POST", path, headers, new URLSearchParams(fields).toString());
  }

  async #follow(first: Answer) {
    let answer = first;
    for (let step = 0; step < REDIRECTS_MAX; step += 1) {
      const { location } = answer.headers;
      const isOwn = location && new URL(location, this.origin).origin === this.origin;
      if (answer.status !== 303 || !isOwn) return answer;
      answer = await this.request("GET", location);
    }
    return assert.fail(`more than ${REDIRECTS_MAX} redirects`);
  }

  #keep(line: string) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === "") this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

/** The action of each form on the page, and its hidden fields. */
export const formsOf = (page: Answer) =>
  [...page.text.matchAll(/<form\b[^>]* action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].map(
    ([, action = "", inner = ""]) => {
      const inputs = inner.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
      const fields = Object.fromEntries(
        Array.from(inputs, ([, name = "", value = ""]) => [decoded(name), decoded(value)]),
      );
      return { action: decoded(action), fields };
    },
  );

/** The users that a sign-in page offers. */
export const usersOn = (page: Answer) =>
  [...page.text.matchAll(/<button name="user_id" value="(\w+)">([^<]*)</g)].map(
    ([, id = "", label = ""]) => ({ id, label: decoded(label) }),
  );

/** Returns the text of HTML, with its entities decoded. */
export const decoded = (text: string) =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
