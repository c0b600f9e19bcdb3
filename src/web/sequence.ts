// Sequence pictures: who says what to whom, from top to bottom, drawn on the server as SVG in the colours of the page. The
// same stands below in words, so nobody needs to see it; `npm run trace` prints those alone. A picture is of one of the
// flows in the tour, or of what one request has led to: its events, and every attempt to deliver them.
import type { Attempt, DeliveryRecord, EventRecord } from "../domain/model.ts";
import { type Html, html } from "./html.ts";
import { cut, list } from "./parts.ts";

/** From one actor to another, by their places; from one to itself it is something that happens there. */
type Message = readonly [from: number, to: number, text: string, note?: string];

export interface Sequence {
  readonly title: string;
  readonly actors: readonly string[];
  readonly messages: readonly Message[];
}

const [COLUMN, MARGIN, ROW, HEAD] = [190, 48, 40, 48];
/** So many characters fit between two who stand side by side, and behind something that happens at one. */
const FITTING = { between: 25, behind: 31 };
const lineOf = (actor: number): number => MARGIN + actor * COLUMN;

/** Too wide for a small screen it is moved to the side, not made too small to read. */
export function drawn(sequence: Sequence): Html {
  const { title, actors, messages } = sequence;
  const [width, height] = [lineOf(actors.length - 1) + MARGIN, HEAD + messages.length * ROW + ROW / 2];
  const line = (name: string, actor: number) =>
    html`<line x1="${lineOf(actor)}" y1="32" x2="${lineOf(actor)}" y2="${height}"/><text class="actor" x="${lineOf(actor)}" y="20">${name}</text>`;
  return html`<figure><div class="scroll"><svg class="sequence" role="img" aria-label="${title}" width="${width}" height="${height}">
${actors.map(line)}${messages.map((each, at) => arrow(each, HEAD + at * ROW))}</svg></div>
<figcaption>${list(inWords(sequence), "ol")}</figcaption></figure>`;
}

/** What goes back to the left is an answer: its line is broken. */
function arrow([from, to, text]: Message, y: number): Html {
  const [start, end] = [lineOf(from), lineOf(to)];
  if (from === to) return html`<text class="note" x="${start - 4}" y="${y + 16}">● ${cut(text, FITTING.behind)}</text>`;
  const back = to < from;
  const tip = back ? 7 : -7;
  return html`<path${back && html` class="back"`} d="M${start} ${y + 20}H${end}m${tip} -4l${-tip} 4l${tip} 4"/>
<text x="${(start + end) / 2}" y="${y + 14}">${cut(text, FITTING.between * Math.abs(to - from))}</text>`;
}

/** A sentence a message. */
export const inWords = ({ actors, messages }: Sequence): readonly string[] =>
  messages.map(([from, to, text, note]) => {
    const who = from === to ? actors[from] : `${actors[from]} → ${actors[to]}`;
    return `${who}: ${text}${note ? ` – ${note}` : ""}`;
  });

type Sent = Pick<DeliveryRecord, "webhook_id" | "status" | "attempts" | "next_attempt_at">;
interface Emitted {
  readonly event: Pick<EventRecord, "id" | "type" | "created">;
  readonly deliveries: readonly Sent[];
}

const CHOSEN = "when and how often is our choice, not the specification’s";

/** What a request has led to: `request` tells of it, and `whereTo` of the webhooks that were told. */
export function chain(request: Message, emitted: readonly Emitted[], whereTo = new Map<string, string>()): Sequence {
  // The journals know what was done to an attempt on purpose.
  const attempt = (made: Attempt & { readonly chaos?: string | null }): readonly Message[] => [
    [1, 2, `attempt ${made.number}${made.trigger === "manual" ? ", by hand" : ""}`, made.at],
    [2, 1, String(made.response_status ?? made.error), [`${made.duration_ms} ms`, made.chaos ?? []].flat().join(", ")],
  ];
  const delivery = ({ webhook_id, status, attempts, next_attempt_at: next }: Sent): readonly Message[] => [
    [1, 1, `to ${whereTo.get(webhook_id) ?? webhook_id}`],
    ...attempts.flatMap(attempt),
    [1, 1, status, next === null ? "" : `to be tried again at ${next}; ${CHOSEN}`],
  ];
  const event = ({ event: { id, type, created }, deliveries }: Emitted): readonly Message[] => [
    [1, 1, type, `${id}, ${created}${deliveries.length === 0 ? ", sent to nobody" : ""}`],
    ...deliveries.flatMap(delivery),
  ];
  const messages = [request, ...emitted.flatMap(event)];
  return { title: "What a request has led to", actors: ["Client", "Service", "Receiver"], messages };
}

/** What the tour shows, by the number of the part. */
export const PICTURES: { readonly [part: number]: Sequence } = {
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
