// The tour: the specification in nine pages, one a part, each with a request to paste and what it answers, pictures of its
// flows, the tests that hold it, and from the register what it leaves open and who reads it how.
import { DECISIONS, type Decision } from "../../decisions.ts";
import type { Decide, Switched } from "../../domain/readings.ts";
import { ADDRESSES } from "../../http/links.ts";
import { trusted } from "../../kit/schema.ts";
import { html } from "../html.ts";
import { code, prose, tabs, terms } from "../parts.ts";
import { drawn, type Sequence } from "../sequence.ts";
import type { WebParts } from "../visit.ts";
import { curl } from "./endpoints.ts";
import { PARTS } from "./specification.ts";

export const TOUR = `${ADDRESSES.docs}/tour`;
const STOPS = PARTS.map((part, at) => ({ ...part, number: at + 1, name: `${at + 1} ${part.title}` }));
type Stop = (typeof STOPS)[number];
const pathOf = ({ number }: Stop): string => `${TOUR}/${number}`;
const LINKS = STOPS.map((stop) => [stop.name, pathOf(stop)] as const);

export const tour = () => ({
  lead: "The specification in nine pages, one a part: what it says, a request to try it with, what it leaves open and who reads it how, and the tests that hold it.",
  sections: STOPS.map((stop) => ({
    id: `part-${stop.number}`,
    title: stop.name,
    body: html`<p>${stop.says[0]?.[1]} <a href="${pathOf(stop)}">Go on to ${stop.name}</a></p>`,
  })),
});

/** The address of each page, and what makes it. */
export const tourPages = STOPS.map((stop) => [pathOf(stop), (parts: WebParts) => partPage(stop, parts)] as const);

function partPage({ number, name, title, says, request, answer, tryThis }: Stop, { services }: WebParts) {
  const { authUrl } = services.links;
  const { at, ...more } = request;
  const [method = "", path = ""] = at.split(" ");
  const asked = curl(method, authUrl + path, more).replace("curl", "curl -i");
  const sentences = says.map(([ids, said]) => [ids.split(" ").map((id) => html`<code>${id}</code>`), said] as const);
  const open = Object.entries<Decision>(DECISIONS).filter(([id]) => id.startsWith(`${number}.`));
  const picture = PICTURES[number];
  const body = html`${terms(sentences)}<p>Each id is that of a test:</p>${code(`npm run clause ${says[0]?.[0].split(" ")[0]}`)}`;
  return {
    title: `Part ${number}: ${title}`,
    above: tabs("Tour", LINKS, name),
    lead: "What the specification says in this part stands first, with the tests that hold it; what this server chose stands below.",
    sections: [
      { id: "says", title: "What it says", body },
      ...(picture ? [{ id: "picture", title: picture.title, body: drawn(picture) }] : []),
      { id: "request", title: "A request", body: code(asked) },
      { id: "answer", title: "The answer", body: html`${SHORTENED}${code(answer.replaceAll("$URL", authUrl))}` },
      { id: "open", title: "What it leaves open", entries: open.map(decided(services.decide)) },
      { id: "try", title: "Try this", body: html`<p>${prose(tryThis)}</p>` },
    ],
  };
}

const SHORTENED = html`<p>The lines that matter of what this server answers without --reading; … differs from run to run.</p>`;

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** A row of the register: the choice in force, why, what others do, and the other reading. */
export const decided =
  (decide: Decide) =>
  ([id, { open, choice, field, why }]: [string, Decision]) => {
    const elsewhere = html`Elsewhere: ${field}. The other reading, ${choice.other}: <code>${shown(choice.or)}</code>`;
    const asked = choice.named && html`, with <code>--reading ${id}=${choice.named}</code>`;
    const inForce = choice.named === undefined ? choice.is : decide(trusted<Switched>(id));
    const meaning = html`<p><code>${shown(inForce)}</code></p><p>${why}</p><p class="soft">${elsewhere}${asked}</p>`;
    return { id: `decision-${id}`, name: id, term: html`<code>${id}</code>${open}`, meaning };
  };

/** By the number of the part. */
const PICTURES: { readonly [part: number]: Sequence } = {
  5: {
    title: "The authorization code flow",
    actors: ["User", "Client", "Authorization server", "API"],
    messages: [
      [0, 1, "wants to use the client"],
      [1, 0, "302 to /oauth/authorize", "with client_id, redirect_uri, response_type, scope and a fresh state"],
      [0, 2, "GET /oauth/authorize", "who is signed in is asked whether the client may"],
      [0, 2, "allows"],
      [2, 0, "303 to redirect_uri?code=…&state=…"],
      [0, 1, "brings code and state", "the client compares the state first"],
      [1, 2, "POST /oauth/token", "code, redirect_uri, client_secret; a code lasts a minute, once (our choice)"],
      [2, 1, "200 and the tokens", "in the form of RFC 6749 (our choice)"],
      [1, 3, "GET /v1/apps", "Authorization: Bearer and the access token"],
      [3, 1, "200", "or 401 once it has run out: the refresh token fetches another"],
    ],
  },
  6: {
    title: "From an event to its delivery, and again",
    actors: ["Client", "Service", "Receiver"],
    messages: [
      [0, 1, "POST /v1/apps"],
      [1, 1, "app.created is recorded", "together with the app, so that neither is there alone"],
      [1, 0, "201", "nothing waits for a receiver"],
      [1, 2, "POST, signed: attempt 1", "X-Service-Signature is of the body’s bytes"],
      [2, 1, "500", "or a redirect, or nothing for 30 seconds: all but 2xx has failed"],
      [1, 1, "waits about 5 s", "that a delivery can be repeated is said; when and how often is our choice"],
      [1, 2, "the same bytes: attempt 2", "the receiver knows the event by its id"],
      [2, 1, "204", "checked and put aside, answered, and only then worked on"],
    ],
  },
};
