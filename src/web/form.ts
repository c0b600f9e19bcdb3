// Forms generated from the JSON Schema of an operation's body: each member is a field with the API's name. The
// operation validates the values. This file only renders and parses them, and shows validation issues at their fields.

import type { AppError, FieldError } from "../domain/errors.ts";
import { SCOPE_LABELS } from "../domain/model.ts";
import { explain } from "../http/problem.ts";
import { ISSUES_MAX, type JsonSchema } from "../lib/schema.ts";
import { alertBox, type Html, html, muted, type Renderable } from "./html.ts";

/** The values of a form and, after an error, its validation issues by field; "" is the form as a whole. */
export interface Form {
  readonly values: { readonly [member: string]: unknown };
  readonly faults?: ReadonlyMap<string, string>;
  readonly status?: number;
}

type Option = readonly [value: string, label: string];

/** Hints shown at fields, and options for fields whose schema lists none. */
export type Hints = { readonly [member: string]: string };
export type Choices = { readonly [member: string]: readonly Option[] };

/** Longer text gets a textarea. */
const LINE_MAX = 1_000;

/** Longer rejected input is not shown again in the form. */
const BACK_MAX = 65_536;

/** Chooses the widget of a member; text without a maximum length is a file upload or pasted text. */
function widgetFor({ type, items, maxLength, format }: JsonSchema, options: readonly Option[]) {
  if (type === "boolean") return "flag";
  if (type === "array") return items?.enum ? "set" : "lines";
  if (options.length > 0) return "choice";
  if (maxLength === undefined) return "file";
  return Number(maxLength) > LINE_MAX && format === undefined ? "text" : "line";
}

const MEANINGS: Hints = SCOPE_LABELS;
const option = (value: string): Option => [
  value,
  value in MEANINGS ? `${MEANINGS[value]} (${value})` : value,
];

/** Returns the label of a member. */
export const labelFor = (member: string): string =>
  member
    .replace(/_at$/, "")
    .replaceAll("_", " ")
    .replace(/\b(id|ur[il])(?=s?\b)/g, (part) => part.toUpperCase());

/** Returns the fields of a schema. */
function fieldsOf(schema: JsonSchema, choices: Choices = {}) {
  return membersOf(schema).map(([name, member, required]) => {
    const options = choices[name] ?? (member.items ?? member).enum?.map(option) ?? [];
    return { name, kind: widgetFor(member, options), options, otherwise: member.default, required };
  });
}

type Field = ReturnType<typeof fieldsOf>[number];

/** Builds the body from submitted fields. An empty field counts as absent. */
export function parseFields(sent: ReadonlyMap<string, string>, schema: JsonSchema): Form["values"] {
  const value = ({ name, kind, options, otherwise, required }: Field): unknown => {
    const text = (sent.get(name) ?? sent.get(`${name}-text`))?.replaceAll("\r\n", "\n");
    if (kind === "flag") return sent.has(name);
    if (kind === "set")
      return options.map(([each]) => each).filter((each) => sent.has(`${name}.${each}`));
    if (kind === "lines") return text?.split("\n").flatMap((line) => line.trim() || []);
    return text ?? (required && kind !== "file" ? "" : otherwise);
  };
  return Object.fromEntries(fieldsOf(schema).map((each) => [each.name, value(each)]));
}

/** Returns the submitted form with the error's issues at their fields. */
export function formWithErrors(values: Form["values"], error: AppError): Form {
  const { details: reason } = error;
  const { status, detail } = explain(error);
  const errors: readonly FieldError[] = "errors" in reason ? reason.errors : [{ detail }];
  const faults = new Map<string, string>();
  for (const { pointer = "", detail: said } of errors.slice(0, ISSUES_MAX)) {
    // Positions within a list count from 1.
    const [, name = "", at] = pointer.split("/");
    const reported = `${at ? `Entry ${Number(at) + 1}` : "It"} ${said}.`;
    faults.set(name, [faults.get(name), name ? reported : said].filter(Boolean).join(" "));
  }
  if (errors.length > ISSUES_MAX) faults.set("", detail);
  return { values, faults, status };
}

/** Renders all fields, with defaults in those without a value, below the issues of the whole form. */
export function renderFields(
  { values, faults }: Form,
  schema: JsonSchema,
  hints: Hints = {},
  choices?: Choices,
): Html {
  const fields = fieldsOf(schema, choices).map((field) => {
    const held = [values[field.name] ?? field.otherwise ?? ""].flat();
    return renderField(field, held.map(String), hints[field.name], faults?.get(field.name));
  });
  return html`${faults && alertBox("alert", faults.get("") ?? MARKED)}${fields}`;
}

const MARKED = "Nothing was changed yet: please look at what is marked below.";

/** Label, control, issue and hint are linked by ids for screen readers. */
function renderField(
  { name, kind, options, required }: Field,
  held: readonly string[],
  hint: Renderable,
  fault: Renderable,
): Html {
  const label = labelFor(name).replace(/^./, (first) => first.toUpperCase());
  const id = `${name}-${fault ? "fault" : "hint"}`;
  const tied = html`aria-describedby="${id}"`;
  const reported = html`<div id="${id}">${fault && html`<p class="fault">${fault}</p>`}${hint && muted(hint)}</div>`;
  const box = (own: string, value: string, text: string) =>
    html`<label><input type="checkbox" name="${own}" value="on"${held.includes(value) && html` checked`}> ${text}</label>`;
  if (kind === "flag")
    return html`<fieldset ${tied}>${box(name, "true", label)}${reported}</fieldset>`;
  // Each option of a set has its own name, because a repeated field name is rejected.
  const boxes = options.map(([value, text]) => box(`${name}.${value}`, value, text));
  if (kind === "set")
    return html`<fieldset ${tied}><legend>${label}</legend>${boxes}${reported}</fieldset>`;
  const own = html`id="${name}" name="${name}" ${tied}${fault && html` aria-invalid="true"`}`;
  const must = required && html` required`;
  const choice = ([value, text]: Option) =>
    html`<option value="${value}"${held.includes(value) && html` selected`}>${text}</option>`;
  const asked = (control: Html) =>
    html`<div><label for="${name}">${label}${!required && html` <small>optional</small>`}</label>${control}${reported}</div>`;
  if (kind === "choice") return asked(html`<select ${own}>${options.map(choice)}</select>`);
  if (kind === "line") return asked(html`<input ${own}${must} value="${held}" autocomplete="off">`);
  if (kind !== "file") return asked(textarea(html`${own}${must}`, held.join("\n")));
  // A file's content still exists on the user's disk, and rendering ten megabytes would block other requests.
  const text = held.join("");
  const pasted = textarea(
    html`name="${name}-text" aria-label="Pasted"`,
    text.length > BACK_MAX ? "" : text,
  );
  return asked(html`<input type="file" ${own}> or, without a file, paste it here: ${pasted}`);
}

/** HTML drops a line break at the start of a textarea, so the template adds one. */
const textarea = (attributes: Html, text: string): Html =>
  html`<textarea ${attributes} rows="4">\n${text}</textarea>`;

/** Returns the members of a schema, or of all its alternatives, and whether each is required. */
export function membersOf({ properties, required, oneOf = [] }: JsonSchema) {
  const all: JsonSchema["properties"] = Object.assign(
    {},
    properties,
    ...oneOf.map((each) => each.properties),
  );
  const must = required ?? oneOf[0]?.required ?? [];
  return Object.entries(all ?? {}).map(
    ([name, member]) => [name, member, must.includes(name)] as const,
  );
}
