// The tour in /docs: the specification part by part. What it says and what this project decided are never mixed.
import { DECISIONS } from "../../decisions.ts";
import { code, type Html, html, list } from "../html.ts";
import type { WebDeps } from "../session.ts";
import { type Doc, type Section, terms } from "./page.ts";
import { curl } from "./reference.ts";
import { PARTS, type Part } from "./tour-content.ts";

export const tourDoc = (deps: WebDeps): Doc => ({
  title: "Tour",
  path: "/docs/tour",
  lead: "The specification in nine parts: what each says, a request to try, what it leaves open, and what this server does there.",
  sections: [],
  pages: Object.entries(PARTS).map(([title, part], index) => ({
    title: `Part ${index + 1}: ${title}`,
    path: `/docs/tour/${index + 1}`,
    lead: part.summary,
    sections: [...explain(part, deps), ["What it leaves open"], ...listDecisions(index + 1)],
  })),
});

function explain(
  { clauses, request, body, anonymous, response, exercise, steps }: Part,
  { routeDeps }: WebDeps,
): readonly Section[] {
  const { authUrl } = routeDeps.urls;
  const command = curl(request.replace(" ", ` ${authUrl}`), body, !anonymous);
  const sentences = Object.entries(clauses).map(
    ([ids, sentence]) => html`${sentence} <small>${ids}</small>`,
  );
  const sections: Section[] = [
    ["What it says", [list(sentences), "Each clause has a test: `npm run clause ID` runs it."]],
    [
      "Try it",
      [
        code(command.replace("curl", "curl -i")),
        code(response.join("\n").replaceAll("$URL", authUrl)),
        "In the response … stands for text that varies.",
        exercise,
      ],
    ],
  ];
  if (steps) sections.push(["Step by step on this server", sequence(steps)]);
  return sections;
}

const listDecisions = (part: number): readonly Section[] =>
  Object.entries(DECISIONS)
    .filter(([id]) => id.startsWith(`${part}.`))
    .map(([id, { open, choice, why, others, variant }]) => {
      const other = variant ? ` To try it, start the server with \`--variant ${variant}\`.` : "";
      const body = terms({ "This server": choice, Why: why, "Other services": others + other });
      return [open, body, `decision-${id}`];
    });

/** Draws steps such as `Client → Service: text – note` with a lane for each of three parties. */
function sequence(steps: readonly string[]): Html {
  const messages = steps.map((step) => step.split(/ → |: | – /));
  const parties = [...new Set(messages.flatMap((message) => message.slice(0, 2)))];
  const rows = messages.map(([from = "", to = "", text, note]) => {
    const [start = 0, end = 0] = [from, to].map((party) => 100 * parties.indexOf(party) + 50);
    const back = Math.sign(start - end) * 6;
    return html`<b>${from} → ${to}</b> ${text} <small>${note}</small>
<svg viewBox="0 0 300 12" aria-hidden="true"><path d="M50 0v12m100-12v12m100-12v12"/><path d="M${start} 6H${end}m${back}-4L${end} 6l${back} 4"/></svg>`;
  });
  return html`<div class="sequence">${parties.map((party) => html`<b>${party}</b>`)}${list(rows, "ol")}</div>`;
}
