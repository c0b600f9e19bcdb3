// Sequence pictures: who says what to whom, from top to bottom, drawn on the server as SVG in the colours of the page. They
// are written in words, a line a message, which stand below the picture, so nobody needs to see it; `npm run trace` prints
// these alone. A picture is of one of the flows in the tour, or of what one request has led to: its events, and every
// attempt to deliver them.
import type { Attempt, DeliveryRecord, EventRecord } from "../domain/model.ts";
import { type Html, html, list, scrollBox, truncate } from "./html.ts";

export interface Sequence {
  readonly title: string;
  /** `Client → Service: text – note`; what happens at one of them is `Service: text – note`. Notes are not drawn. */
  readonly lines: readonly string[];
}

const LINE = /^([\w ]+?)(?: → ([\w ]+))?: (.*?)(?: – .*)?$/;
const [COLUMN, MARGIN, ROW, HEAD] = [190, 48, 40, 48];
/** So many characters fit between two who stand side by side, and behind something that happens at one. */
const FITTING = { between: 25, behind: 31 };

/** Too wide for a small screen it is moved to the side, not made too small to read. */
export function renderSequence({ title, lines }: Sequence): Html {
  const messages = lines.map((line) => {
    const [, from = "", to = from, text = ""] = LINE.exec(line) ?? [];
    return [[from, to], text] as const;
  });
  // From left to right as they come in.
  const actors = [...new Set(messages.flatMap(([ends]) => ends))];
  const across = (actor: string): number => MARGIN + actors.indexOf(actor) * COLUMN;
  // What happens at the last of them stands behind it.
  const [width, height] = [MARGIN + actors.length * COLUMN, HEAD + lines.length * ROW + ROW / 2];
  const standing = (actor: string) =>
    html`<line x1="${across(actor)}" y1="32" x2="${across(actor)}" y2="${height}"/><text class="actor" x="${across(actor)}" y="20">${actor}</text>`;
  const picture = html`<svg class="sequence" role="img" aria-label="${title}" width="${width}" height="${height}">
${actors.map(standing)}${messages.map(([[from, to], text], at) => arrow(across(from), across(to), text, HEAD + at * ROW))}</svg>`;
  return html`<figure>${scrollBox(title, picture)}
<figcaption>${list(lines, "ol")}</figcaption></figure>`;
}

/** What goes back to the left is an answer: its line is broken. */
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

/** What a request has led to: `request` tells of it, and `whereTo` of the webhooks that were told. */
export function traceDiagram(
  request: string,
  emitted: readonly Emitted[],
  whereTo = new Map<string, string>(),
): Sequence {
  // The journals know what was done to an attempt on purpose.
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
