// Forms generated from the JSON Schema of an operation's body: each member is a field with the API's name. The
// operation validates the values. This file only renders and parses them, and shows validation issues at their fields.
import type { AppError, FieldError } from "../domain/errors.ts";
import { SCOPE_LABELS } from "../domain/model.ts";
import { explain } from "../http/problem.ts";
import { ISSUES_MAX, type JsonSchema } from "../lib/schema.ts";
import { alertBox, type Html, html, muted, type Renderable } from "./html.ts";

export type FormValues = Readonly<Record<string, unknown>>;

/** The values of a form and, after an error, its status and its issues by field; "" is the form as a whole. */
export interface Form {
  readonly values: FormValues;
  readonly errors?: ReadonlyMap<string, string>;
  readonly status?: number;
}

/** Hints shown at fields, and options for fields whose schema lists none. */
export type Hints = Readonly<Record<string, string>>;
export type Choices = Readonly<Record<string, readonly string[]>>;

/** Longer text gets a textarea. */
const LINE_CHARS = 1_000;
/** Longer rejected input is not shown again in the form. */
const SHOWN_CHARS = 65_536;

/** Returns the members of a schema, or of all its alternatives, and whether each is required. */
export function membersOf({ properties, required, oneOf = [] }: JsonSchema) {
  const members: Record<string, JsonSchema> = { ...properties };
  for (const alternative of oneOf) Object.assign(members, alternative.properties);
  const requiredNames = required ?? oneOf[0]?.required ?? [];
  return Object.entries(members).map(
    ([name, member]) => [name, member, requiredNames.includes(name)] as const,
  );
}

/** Text without a maximum length is a file upload or pasted text. */
function widgetFor({ type, items, maxLength, format, enum: options }: JsonSchema) {
  if (type === "boolean") return "checkbox";
  if (type === "array" && items?.enum) return "checkboxes";
  if (type === "array") return "lines";
  if (options) return "select";
  if (maxLength === undefined) return "file";
  return Number(maxLength) > LINE_CHARS && format === undefined ? "textarea" : "input";
}

/** Returns the label of a member in sentence case: "Redirect URIs". */
export function labelFor(member: string): string {
  const words = member
    .replace(/_at$/, "")
    .replaceAll("_", " ")
    .replace(/\b(id|ur[il])(?=s?\b)/g, (word) => word.toUpperCase());
  return words.replace(/^./, (first) => first.toUpperCase());
}

/** Builds the body from submitted fields. An empty field counts as absent. */
export function parseFields(fields: ReadonlyMap<string, string>, schema: JsonSchema): FormValues {
  const values: Record<string, unknown> = {};
  for (const [name, member, isRequired] of membersOf(schema)) {
    const text = (fields.get(name) ?? fields.get(`${name}-text`))?.replaceAll("\r\n", "\n");
    const widget = widgetFor(member);
    if (widget === "checkbox") values[name] = fields.has(name);
    else if (widget === "checkboxes")
      values[name] = member.items?.enum?.filter((option) => fields.has(`${name}.${option}`));
    else if (widget === "lines")
      values[name] = text?.split("\n").flatMap((line) => line.trim() || []);
    else if (widget === "file") values[name] = text;
    else values[name] = text ?? (isRequired ? "" : member.default);
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
    errors.set(name, [errors.get(name) ?? [], message].flat().join(" "));
  }
  return { values, errors, status };
}

/** Renders all fields, with defaults in those without a value, below the issues of the whole form. */
export function renderFields(
  { values, errors }: Form,
  schema: JsonSchema,
  { hints = {}, choices = {} }: { readonly hints?: Hints; readonly choices?: Choices } = {},
): Html {
  const fields = membersOf(schema).map(([name, member, isRequired]) => {
    const field = choices[name] ? { ...member, enum: choices[name] } : member;
    const value = [values[name] ?? member.default ?? ""].flat().map(String);
    return renderField(name, field, isRequired, value, hints[name], errors?.get(name));
  });
  return html`${errors && alertBox("alert", errors.get("") ?? NOTHING_CHANGED)}${fields}`;
}

const NOTHING_CHANGED = "Nothing was changed. Correct the fields below.";

/** Ids link label, control, issue and hint for screen readers. */
function renderField(
  name: string,
  field: JsonSchema,
  isRequired: boolean,
  value: readonly string[],
  hint: Renderable,
  error: Renderable,
): Html {
  const label = labelFor(name);
  const widget = widgetFor(field);
  const text = value.join("\n");
  const noteId = `${name}-${error ? "error" : "hint"}`;
  const note = html`<div id="${noteId}">${error && html`<p class="error">${error}</p>`}${hint && muted(hint)}</div>`;
  const attributes = html`id="${name}" name="${name}" aria-describedby="${noteId}"${error && html` aria-invalid="true"`}${isRequired && widget !== "file" && html` required`}`;
  const withLabel = (control: Html) =>
    html`<div><label for="${name}">${label}${!isRequired && html` <small>optional</small>`}</label>${control}${note}</div>`;
  switch (widget) {
    case "checkbox":
      return html`<div><label><input type="checkbox" ${attributes}${text === "true" && html` checked`}> ${label}</label>${note}</div>`;
    case "checkboxes": {
      // Each option has its own name, because a repeated field name is rejected.
      const options = field.items?.enum?.map(
        (option) =>
          html`<label><input type="checkbox" name="${name}.${option}"${value.includes(option) && html` checked`}> ${optionLabel(option)}</label>`,
      );
      return html`<fieldset aria-describedby="${noteId}"><legend>${label}</legend>${options}${note}</fieldset>`;
    }
    case "select": {
      const options = field.enum?.map(
        (option) => html`<option${text === option && html` selected`}>${option}</option>`,
      );
      return withLabel(html`<select ${attributes}>${options}</select>`);
    }
    case "input":
      return withLabel(html`<input ${attributes} value="${text}" autocomplete="off">`);
    case "file": {
      // Rendering ten megabytes again would block other requests, and the user still has the file.
      const pasted = text.length > SHOWN_CHARS ? "" : text;
      const pasteBox = textarea(html`name="${name}-text" aria-label="Pasted text"`, pasted);
      return withLabel(html`<input type="file" ${attributes}> or paste it here: ${pasteBox}`);
    }
    default:
      return withLabel(textarea(attributes, text));
  }
}

function optionLabel(option: string): string {
  const labels: Hints = SCOPE_LABELS;
  return labels[option] ? `${labels[option]} (${option})` : option;
}

/** HTML drops a line break at the start of a textarea, so the template adds one. */
const textarea = (attributes: Html, text: string): Html =>
  html`<textarea ${attributes} rows="4">\n${text}</textarea>`;
