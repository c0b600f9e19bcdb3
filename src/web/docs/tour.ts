// The tour: the specification in nine pages, one a part, each with a request to paste and what it answers, pictures of its
// flows, the tests that hold it, and from the register what it leaves open and who reads it how.
import { DECISIONS, type Decision } from "../../decisions.ts";
import type { Decide, Switched } from "../../domain/readings.ts";
import { ADDRESSES } from "../../http/links.ts";
import { trusted } from "../../kit/schema.ts";
import { html } from "../html.ts";
import { code, link, mono, prose, soft, tabs, terms } from "../parts.ts";
import { drawn, type Sequence } from "../sequence.ts";
import type { WebParts } from "../visit.ts";
import { curl } from "./reference.ts";
import { PARTS } from "./specification.ts";

export const TOUR = `${ADDRESSES.docs}/tour`;
const STOPS = PARTS.map((part, at) => {
  const number = at + 1;
  return { ...part, number, name: `${number} ${part.title}`, path: `${TOUR}/${number}` };
});
type Stop = (typeof STOPS)[number];
const LINKS = STOPS.map(({ name, path }) => [name, path] as const);

export const tour = () => ({
  lead: "The specification in nine pages, one a part: what it says, a request to try it with, what it leaves open and who reads it how, and the tests that hold it.",
  sections: STOPS.map(({ number, name, path, says }) => {
    return [`part-${number}`, name, [says[0]?.[1], " ", link(path, `Go on to ${name}`)]] as const;
  }),
});

/** The address of each page, and what makes it. */
export const tourPages = STOPS.map((stop) => [stop.path, (parts: WebParts) => partPage(stop, parts)] as const);

function partPage({ number, name, title, says, request, answer, tryThis }: Stop, { services }: WebParts) {
  const { authUrl } = services.links;
  const { at, ...more } = request;
  const [method = "", path = ""] = at.split(" ");
  const asked = curl(method, authUrl + path, more).replace("curl", "curl -i");
  const sentences = says.map(([ids, said]) => [ids.split(" ").map(mono), said] as const);
  const open = Object.entries<Decision>(DECISIONS).filter(([id]) => id.startsWith(`${number}.`));
  const picture = PICTURES[number];
  const body = html`${terms(sentences)}<p>Each id is that of a test:</p>${code(`npm run clause ${says[0]?.[0].split(" ")[0]}`)}`;
  return {
    title: `Part ${number}: ${title}`,
    above: tabs("Tour", LINKS, name),
    lead: "What the specification says in this part stands first, with the tests that hold it; what this server chose stands below.",
    sections: [
      ["says", "What it says", body],
      ...(picture ? [["picture", picture.title, drawn(picture)] as const] : []),
      ["request", "A request", code(asked)],
      ["answer", "The answer", [SHORTENED, code(answer.replaceAll("$URL", authUrl))]],
      ["open", "What it leaves open", null, open.map(decided(services.decide))],
      ["try", "Try this", prose(tryThis)],
    ] as const,
  };
}

const SHORTENED = "The lines that matter of what this server answers without --reading; … differs from run to run.";

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** A row of the register: the choice in force, why, what others do, and the other reading. */
export const decided =
  (decide: Decide) =>
  ([id, { open, choice, field, why }]: [string, Decision]) => {
    const { named, is, or, other } = choice;
    const inForce = mono(shown(named === undefined ? is : decide(trusted<Switched>(id))));
    const asked = named && [", with ", mono(`--reading ${id}=${named}`)];
    const elsewhere = soft([`Elsewhere: ${field}. The other reading, ${other}: `, mono(shown(or)), asked]);
    return [`decision-${id}`, html`<p>${inForce}</p><p>${why}</p>${elsewhere}`, id, [mono(id), open]] as const;
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
