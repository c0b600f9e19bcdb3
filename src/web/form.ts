// Forms, drawn from the JSON Schema of the body that an operation takes: its members are the fields, called what the API
// calls them. Which values are right the operation says; here they are only put into a form and taken out of it, and its
// faults become words at a field.

import type { AppError, FieldError } from "../domain/errors.ts";
import { SCOPE_LABELS } from "../domain/model.ts";
import { explain } from "../http/problem.ts";
import { ISSUES_MAX, type JsonSchema } from "../lib/schema.ts";
import { alertBox, type Html, html, muted, type Renderable } from "./html.ts";

/** What stands in a form, as in a body, and after a refusal its faults by field; "" is the form as a whole. */
export interface Form {
  readonly values: { readonly [member: string]: unknown };
  readonly faults?: ReadonlyMap<string, string>;
  readonly status?: number;
}

type Option = readonly [value: string, label: string];

/** What people read at some members, and what they choose from where the schema does not say. */
export type Hints = { readonly [member: string]: string };
export type Choices = { readonly [member: string]: readonly Option[] };

/** So long a text has lines. */
const LINE_MAX = 1_000;

/** So much of what was sent in vain comes back in the form. */
const BACK_MAX = 65_536;

/** How a member is asked for: text without a bound is a file, or what is pasted instead. */
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

/** What people call a member. */
export const labelFor = (member: string): string =>
  member
    .replace(/_at$/, "")
    .replaceAll("_", " ")
    .replace(/\b(id|ur[il])(?=s?\b)/g, (part) => part.toUpperCase());

/** Every field with what the schema says of its member. */
function fieldsOf(schema: JsonSchema, choices: Choices = {}) {
  return membersOf(schema).map(([name, member, required]) => {
    const options = choices[name] ?? (member.items ?? member).enum?.map(option) ?? [];
    return { name, kind: widgetFor(member, options), options, otherwise: member.default, required };
  });
}

type Field = ReturnType<typeof fieldsOf>[number];

/** The body that a form makes. A field left empty is as if it had not been filled in. */
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

/** The form as it was sent, with what the refusal says about it: each member of the body has a field of its own. */
export function formWithErrors(values: Form["values"], error: AppError): Form {
  const { details: reason } = error;
  const { status, detail } = explain(error);
  const errors: readonly FieldError[] = "errors" in reason ? reason.errors : [{ detail }];
  const faults = new Map<string, string>();
  for (const { pointer = "", detail: said } of errors.slice(0, ISSUES_MAX)) {
    // A place in what a field holds is told as people count.
    const [, name = "", at] = pointer.split("/");
    const reported = `${at ? `Entry ${Number(at) + 1}` : "It"} ${said}.`;
    faults.set(name, [faults.get(name), name ? reported : said].filter(Boolean).join(" "));
  }
  if (errors.length > ISSUES_MAX) faults.set("", detail);
  return { values, faults, status };
}

/** All fields, what is taken where nothing is said in those without a value; above them what is wrong with the whole. */
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

/** Label, control, fault and hint, tied together for those who do not see them side by side. */
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
  // Each of a set has a name of its own, because a form that names a field twice is refused.
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
  // What was sent from a file is there still, and a page of ten megabytes would hold up others.
  const text = held.join("");
  const pasted = textarea(
    html`name="${name}-text" aria-label="Pasted"`,
    text.length > BACK_MAX ? "" : text,
  );
  return asked(html`<input type="file" ${own}> or, without a file, paste it here: ${pasted}`);
}

/** HTML drops a line break at the start of a textarea, so one is put there to be dropped. */
const textarea = (attributes: Html, text: string): Html =>
  html`<textarea ${attributes} rows="4">\n${text}</textarea>`;

/** What each is called, and whether it has to be there; of all alternatives where there are several. */
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
