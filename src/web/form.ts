// Forms generated from the JSON Schema of an operation's body: each member is a field with the API's name. The
// operation validates the values. This file only renders and parses them, and shows validation issues at their fields.
import type { AppError, FieldError } from "../domain/errors.ts";
import { SCOPE_LABELS } from "../domain/model.ts";
import { explain } from "../http/problem.ts";
import { ISSUES_MAX, type JsonSchema } from "../lib/schema.ts";
import { alertBox, type Html, html, muted, type Renderable, toLabel } from "./html.ts";

export type FormValues = Readonly<Record<string, unknown>>;

/** The values of a form and, after an error, its status and its issues by field; "" is the form as a whole. */
export interface Form {
  readonly values: FormValues;
  readonly errors?: ReadonlyMap<string, string>;
  readonly status?: number;
}

/** Hints shown at fields. */
export type Hints = Readonly<Record<string, string>>;

const OPTION_LABELS: Hints = SCOPE_LABELS;

/** Longer text gets a textarea. */
const LINE_CHARS = 1_000;

interface Member {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

/** Returns the members of a schema, with allowed values in alphabetical order. */
export const getMembers = ({ properties = {}, required = [] }: JsonSchema): Member[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: schema.enum ? { ...schema, enum: schema.enum.toSorted() } : schema,
    isRequired: required.includes(name),
  }));

/** Text without a maximum length is a file upload or pasted text. */
function getWidget({ type, items, maxLength, format, enum: options }: JsonSchema) {
  if (type === "boolean") return "checkbox";
  if (type === "array") return items?.enum ? "checkboxes" : "lines";
  if (options) return "select";
  if (maxLength === undefined) return "file";
  return Number(maxLength) > LINE_CHARS && format === undefined ? "textarea" : "input";
}

/** Builds the body from submitted fields. An empty field counts as absent. */
export function parseFields(fields: ReadonlyMap<string, string>, schema: JsonSchema): FormValues {
  const values: Record<string, unknown> = {};
  for (const { name, schema: member, isRequired } of getMembers(schema)) {
    const text = (fields.get(name) ?? fields.get(`${name}-text`))?.replaceAll("\r\n", "\n");
    switch (getWidget(member)) {
      case "checkbox":
        values[name] = fields.has(name);
        break;
      case "checkboxes":
        values[name] = member.items?.enum?.filter((option) => fields.has(`${name}.${option}`));
        break;
      case "lines":
        values[name] = text?.split("\n").flatMap((line) => line.trim() || []);
        break;
      case "file":
        values[name] = text;
        break;
      default:
        values[name] = text ?? (isRequired ? "" : member.default);
    }
  }
  return values;
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

/** Renders all fields, with defaults in those without a value, below the issues of the whole form. */
export function renderFields({ values, errors }: Form, schema: JsonSchema, hints: Hints = {}) {
  const fields = getMembers(schema).map((member) => {
    const { name, schema } = member;
    const value = [values[name] ?? schema.default ?? ""].flat().map(String);
    return renderField(member, value, hints[name], errors?.get(name));
  });
  const summary = errors?.get("") ?? "Nothing was changed. Correct the fields below.";
  return html`${errors && alertBox("alert", summary)}${fields}`;
}

/** Ids link label, control, issue and hint for screen readers. */
function renderField(
  { name, schema, isRequired }: Member,
  value: readonly string[],
  hint: Renderable,
  error: Renderable,
): Html {
  const label = toLabel(name);
  const widget = getWidget(schema);
  const text = value.join("\n");
  const noteId = `${name}-${error ? "error" : "hint"}`;
  const note = html`<div id="${noteId}">${error && html`<p class="error">${error}</p>`}${hint && muted(hint)}</div>`;
  const attributes = html`id="${name}" name="${name}" aria-describedby="${noteId}"${error && html` aria-invalid="true"`}${isRequired && !/file|select/.test(widget) && html` required`}`;
  if (widget === "checkbox")
    return html`<div><label><input type="checkbox" ${attributes}${text === "true" && html` checked`}> ${label}</label>${note}</div>`;
  if (widget === "checkboxes") {
    // Each option has its own name, because only the last value of a repeated name is kept.
    const options = schema.items?.enum?.map(
      (option) =>
        html`<label><input type="checkbox" name="${name}.${option}"${value.includes(option) && html` checked`}> ${option} <small>${OPTION_LABELS[option]}</small></label>`,
    );
    return html`<fieldset aria-describedby="${noteId}"><legend>${label}</legend>${options}${note}</fieldset>`;
  }
  const options = schema.enum?.map(
    (option) => html`<option${text === option && html` selected`}>${option}</option>`,
  );
  const controls: Readonly<Record<string, Html>> = {
    select: html`<select ${attributes}>${options}</select>`,
    input: html`<input ${attributes} value="${text}" autocomplete="off">`,
    file: html`<input type="file" ${attributes}> or paste it here: ${textarea(html`name="${name}-text" aria-label="Pasted text"`, text)}`,
  };
  return html`<div><label for="${name}">${label}${!isRequired && html` <small>optional</small>`}</label>${controls[widget] ?? textarea(attributes, text)}${note}</div>`;
}

/** HTML drops a line break at the start of a textarea, so the template adds one. */
const textarea = (attributes: Html, text: string): Html =>
  html`<textarea ${attributes} rows="4">\n${text}</textarea>`;
