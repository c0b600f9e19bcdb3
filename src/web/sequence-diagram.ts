// Sequence diagrams, drawn on the server as SVG in the page's colours. A diagram is written as one line of text for each
// message, which is shown below the picture as well; `npm run trace` prints only the text.
import type { Attempt, DeliveryRecord, EventRecord } from "../domain/model.ts";
import { type Html, html, list, scrollBox, truncate } from "./html.ts";

export interface Sequence {
  readonly title: string;
  /** `Client → Service: text – note`, or `Service: text – note` for an action. The picture has no notes. */
  readonly lines: readonly string[];
}

const LINE = /^([\w ]+?)(?: → ([\w ]+))?: (.*?)(?: – .*)?$/;
/** Distances in pixels. */
const COLUMN = 190;
const MARGIN = 48;
const ROW = 40;
/** Characters that fit between two columns, and beside the action of an actor. */
const MESSAGE_MAX = 25;
const ACTION_MAX = 31;

/** Renders a sequence; a diagram that is too wide scrolls instead of shrinking. */
export function renderSequence({ title, lines }: Sequence): Html {
  const messages = lines.map((line) => {
    const [, from = "", to = from, text = ""] = LINE.exec(line) ?? [];
    return { from, to, text };
  });
  // From left to right in order of appearance.
  const actors = [...new Set(messages.flatMap(({ from, to }) => [from, to]))];
  const toX = (actor: string): number => MARGIN + actors.indexOf(actor) * COLUMN;
  const width = MARGIN + actors.length * COLUMN;
  const height = MARGIN + (lines.length + 0.5) * ROW;
  const lifelines = actors.map(
    (actor) =>
      html`<line x1="${toX(actor)}" y1="32" x2="${toX(actor)}" y2="${height}"/><text class="actor" x="${toX(actor)}" y="20">${actor}</text>`,
  );
  const arrows = messages.map(({ from, to, text }, row) =>
    renderMessage(toX(from), toX(to), MARGIN + row * ROW, text),
  );
  const picture = html`<svg class="sequence" role="img" aria-label="${title}" width="${width}" height="${height}">
${lifelines}${arrows}</svg>`;
  return html`<figure>${scrollBox(title, picture)}<figcaption>${list(lines, "ol")}</figcaption></figure>`;
}

/** An arrow to the left is a response and drawn as a dashed line. */
function renderMessage(start: number, end: number, y: number, text: string): Html {
  if (start === end)
    return html`<text class="note" x="${start - 4}" y="${y + 16}">● ${truncate(text, ACTION_MAX)}</text>`;
  const isResponse = end < start;
  const tip = isResponse ? 7 : -7;
  const room = (MESSAGE_MAX * Math.abs(end - start)) / COLUMN;
  return html`<path${isResponse && html` class="back"`} d="M${start} ${y + 20}H${end}m${tip} -4l${-tip} 4l${tip} 4"/>
<text x="${(start + end) / 2}" y="${y + 14}">${truncate(text, room)}</text>`;
}

interface EmittedEvent {
  readonly event: Pick<EventRecord, "id" | "type" | "created">;
  readonly deliveries: readonly Pick<
    DeliveryRecord,
    "webhook_id" | "status" | "attempts" | "next_attempt_at"
  >[];
}

/** The sequence of a request and its effects. `receivers` maps webhook ids to names. */
export function traceDiagram(
  request: string,
  emitted: readonly EmittedEvent[],
  receivers = new Map<string, string>(),
): Sequence {
  const lines = [`Client → Service: ${request}`];
  for (const { event, deliveries } of emitted) {
    const none = deliveries.length === 0 ? ", sent to no webhook" : "";
    lines.push(`Service: ${event.type} – ${event.id}, ${event.created}${none}`);
    for (const { webhook_id, attempts, status, next_attempt_at: next } of deliveries) {
      lines.push(
        `Service: to ${receivers.get(webhook_id) ?? webhook_id}`,
        ...attempts.flatMap(attemptLines),
      );
      lines.push(
        `Service: ${status}${next === null ? "" : ` – next attempt at ${next}${DECISION}`}`,
      );
    }
  }
  return { title: "The effects of a request", lines };
}

const DECISION = "; when and how often is our decision, not the specification's";

/** Attempts in the journal also have their chaos effect. */
const attemptLines = (attempt: Attempt & { readonly chaos?: string | null }) => [
  `Service → Receiver: attempt ${attempt.number}${attempt.trigger === "manual" ? ", manual" : ""} – ${attempt.at}`,
  `Receiver → Service: ${attempt.response_status ?? attempt.error} – ${attempt.duration_ms} ms${attempt.chaos ? `, ${attempt.chaos}` : ""}`,
];
