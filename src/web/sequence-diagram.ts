// Sequence diagrams, drawn on the server as SVG in the page's colours. They are written as one line of text per
// message, shown below the picture, so the picture is optional; `npm run trace` prints only the text. A diagram shows a
// flow of the tour, or the events of one request with every delivery attempt.
import type { Attempt, DeliveryRecord, EventRecord } from "../domain/model.ts";
import { type Html, html, list, scrollBox, truncate } from "./html.ts";

export interface Sequence {
  readonly title: string;
  /** `Client → Service: text – note`; an action of one actor is `Service: text – note`. Notes are not drawn. */
  readonly lines: readonly string[];
}

const LINE = /^([\w ]+?)(?: → ([\w ]+))?: (.*?)(?: – .*)?$/;
const [COLUMN, MARGIN, ROW, HEAD] = [190, 48, 40, 48];
/** Characters that fit between two neighbours, and beside an actor's own action. */
const FITTING = { between: 25, behind: 31 };

/** Renders a sequence; a diagram that is too wide scrolls instead of shrinking. */
export function renderSequence({ title, lines }: Sequence): Html {
  const messages = lines.map((line) => {
    const [, from = "", to = from, text = ""] = LINE.exec(line) ?? [];
    return [[from, to], text] as const;
  });
  // Actors from left to right in order of appearance.
  const actors = [...new Set(messages.flatMap(([ends]) => ends))];
  const across = (actor: string): number => MARGIN + actors.indexOf(actor) * COLUMN;
  // An action of the last actor needs room at its right.
  const [width, height] = [MARGIN + actors.length * COLUMN, HEAD + lines.length * ROW + ROW / 2];
  const standing = (actor: string) =>
    html`<line x1="${across(actor)}" y1="32" x2="${across(actor)}" y2="${height}"/><text class="actor" x="${across(actor)}" y="20">${actor}</text>`;
  const picture = html`<svg class="sequence" role="img" aria-label="${title}" width="${width}" height="${height}">
${actors.map(standing)}${messages.map(([[from, to], text], at) => arrow(across(from), across(to), text, HEAD + at * ROW))}</svg>`;
  return html`<figure>${scrollBox(title, picture)}
<figcaption>${list(lines, "ol")}</figcaption></figure>`;
}

/** An arrow to the left is a response and drawn as a dashed line. */
function arrow(start: number, end: number, text: string, y: number): Html {
  if (start === end)
    return html`<text class="note" x="${start - 4}" y="${y + 16}">● ${truncate(text, FITTING.behind)}</text>`;
  const back = end < start;
  const tip = back ? 7 : -7;
  return html`<path${back && html` class="back"`} d="M${start} ${y + 20}H${end}m${tip} -4l${-tip} 4l${tip} 4"/>
<text x="${(start + end) / 2}" y="${y + 14}">${truncate(text, (FITTING.between * Math.abs(end - start)) / COLUMN)}</text>`;
}

interface Emitted {
  readonly event: Pick<EventRecord, "id" | "type" | "created">;
  readonly deliveries: readonly Pick<
    DeliveryRecord,
    "webhook_id" | "status" | "attempts" | "next_attempt_at"
  >[];
}

const CHOSEN = "when and how often is our choice, not the specification’s";

/** The sequence of a request and its effects; `whereTo` maps webhook ids to names. */
export function traceDiagram(
  request: string,
  emitted: readonly Emitted[],
  whereTo = new Map<string, string>(),
): Sequence {
  // Journal attempts also have their chaos effect.
  const attempt = (made: Attempt & { readonly chaos?: string | null }) => [
    `Service → Receiver: attempt ${made.number}${made.trigger === "manual" ? ", by hand" : ""} – ${made.at}`,
    `Receiver → Service: ${made.response_status ?? made.error} – ${made.duration_ms} ms${made.chaos ? `, ${made.chaos}` : ""}`,
  ];
  const delivery = ({
    webhook_id,
    status,
    attempts,
    next_attempt_at: next,
  }: Emitted["deliveries"][number]) => [
    `Service: to ${whereTo.get(webhook_id) ?? webhook_id}`,
    ...attempts.flatMap(attempt),
    `Service: ${status}${next === null ? "" : ` – to be tried again at ${next}; ${CHOSEN}`}`,
  ];
  const event = ({ event: { id, type, created }, deliveries }: Emitted) => [
    `Service: ${type} – ${id}, ${created}${deliveries.length === 0 ? ", sent to nobody" : ""}`,
    ...deliveries.flatMap(delivery),
  ];
  return {
    title: "What a request has led to",
    lines: [`Client → Service: ${request}`, ...emitted.flatMap(event)],
  };
}
