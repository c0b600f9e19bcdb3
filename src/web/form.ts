// Forms generated from the JSON Schema of an operation's body: each member is a field with the API's name. The
// operation validates the values. This file only renders and parses them, and shows validation issues at their fields.
import type { AppError, FieldError } from "../domain/errors.ts";
import { SCOPE_LABELS } from "../domain/model.ts";
import { explain } from "../http/problem.ts";
import { ISSUES_MAX, type JsonSchema } from "../lib/schema.ts";
import { alertBox, type Html, html, muted, type Renderable, toLabel } from "./html.ts";
import type { SubmittedFields } from "./session.ts";

/** Members of a record or a form, and texts by name. */
export type FormValues = Readonly<Record<string, unknown>>;
export type Texts = Readonly<Record<string, string>>;

/** The values of a form and, after an error, its status and its issues by field; "" is the form as a whole. */
export interface Form {
  readonly values: FormValues;
  readonly errors?: ReadonlyMap<string, string>;
  readonly status?: number;
}

/** Texts shown at fields. */
const OPTION_LABELS: Texts = SCOPE_LABELS;

/** Longer text gets a textarea. */
const LINE_CHARS = 4_000;

/** Returns the members of a schema, with allowed values in alphabetical order. */
export const getMembers = ({ properties = {}, required = [] }: JsonSchema) =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: schema.enum ? { ...schema, enum: schema.enum.toSorted() } : schema,
    isRequired: required.includes(name),
  }));

/** Builds the body from submitted fields. An empty field counts as absent. */
export function parseFields(fields: SubmittedFields, schema: JsonSchema): FormValues {
  const entries = getMembers(schema).map(({ name, schema, isRequired }) => {
    const { type, items, maxLength } = schema;
    if (type === "boolean") return [name, fields.has(name)];
    if (items?.enum) return [name, items.enum.filter((option) => fields.has(`${name}.${option}`))];
    const text = fields.get(name) ?? fields.get(`${name}-text`);
    if (type === "array") return [name, text?.split("\n").flatMap((line) => line.trim() || [])];
    // Without a value an update would keep the old text, so an emptied field has "".
    return [name, text ?? (isRequired && maxLength ? "" : schema.default)];
  });
  return Object.fromEntries(entries);
}

/** Returns the submitted form with the error's issues at their fields. */
export function formWithErrors(values: FormValues, error: AppError): Form {
  const { status, detail } = explain(error);
  const issues: readonly FieldError[] =
    "errors" in error.details ? error.details.errors.slice(0, ISSUES_MAX) : [{ detail }];
  const errors = new Map<string, string>();
  for (const issue of issues) {
    const [, name = "", position] = issue.pointer?.split("/") ?? [];
    const subject = position ? `Entry ${Number(position) + 1}` : "It";
    const message = name ? `${subject} ${issue.detail}.` : issue.detail;
    errors.set(name, [errors.get(name), message].join(" ").trim());
  }
  return { values, errors, status };
}

/** Renders all fields below the issues of the whole form. Ids link label, control, issue and hint for screen readers. */
export function renderFields({ values, errors }: Form, schema: JsonSchema, hints: Texts = {}) {
  const fields = getMembers(schema).map(({ name, schema, isRequired }) => {
    const value = [values[name] ?? schema.default ?? ""].flat().map(String);
    const error = errors?.get(name);
    const hint = hints[name];
    const { type, items, maxLength } = schema;
    const label = toLabel(name);
    const text = value.join("\n");
    const noteId = `${name}-${error ? "error" : "hint"}`;
    const note = html`<div id="${noteId}">${error && html`<p class="error">${error}</p>`}${hint && muted(hint)}</div>`;
    const attributes = html`id="${name}" name="${name}" aria-describedby="${noteId}"${error && html` aria-invalid="true"`}`;
    const required = html`${attributes}${isRequired && html` required`}`;
    if (type === "boolean")
      return html`<div>${checkbox(attributes, text === "true", label)}${note}</div>`;
    if (items?.enum) {
      // Each option has its own name, because only the last value of a repeated name is kept.
      const options = items.enum.map((option) =>
        checkbox(html`name="${name}.${option}"`, value.includes(option), [
          option,
          html` <small>${OPTION_LABELS[option]}</small>`,
        ]),
      );
      return html`<fieldset aria-describedby="${noteId}"><legend>${label}</legend>${options}${note}</fieldset>`;
    }
    let control = html`<input ${required} value="${text}" autocomplete="off">`;
    if (schema.enum) {
      const options = schema.enum.map(
        (option) => html`<option${text === option && html` selected`}>${option}</option>`,
      );
      control = html`<select ${attributes}>${options}</select>`;
    } else if (type === "array" || Number(maxLength) > LINE_CHARS)
      control = textarea(required, text);
    // Text without a maximum length is a file upload or pasted text.
    else if (maxLength === undefined)
      control = html`<input type="file" ${attributes}> or paste it here: ${textarea(html`name="${name}-text" aria-label="Pasted text"`, text)}`;
    return html`<div><label for="${name}">${label}${!isRequired && html` <small>optional</small>`}</label>${control}${note}</div>`;
  });
  const summary = errors?.get("") ?? "Nothing was changed. Correct the fields below.";
  return html`${errors && alertBox("alert", summary)}${fields}`;
}

const checkbox = (attributes: Html, isChecked: boolean, label: Renderable): Html =>
  html`<label><input type="checkbox" ${attributes}${isChecked && html` checked`}> ${label}</label>`;

/** HTML drops a line break at the start of a textarea, so the template adds one. */
const textarea = (attributes: Html, text: string): Html =>
  html`<textarea ${attributes} rows="4">\n${text}</textarea>`;
