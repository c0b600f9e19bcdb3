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

type Option = readonly [value: string, label: string];

/** Hints shown at fields, and options for fields whose schema lists none. */
export type Hints = Readonly<Record<string, string>>;
export type Choices = Readonly<Record<string, readonly Option[]>>;

/** Longer text gets a textarea. */
const LINE_CHARS = 1_000;
/** Longer rejected input is not shown again in the form. */
const SHOWN_CHARS = 65_536;

type Widget = "checkbox" | "checkboxes" | "lines" | "select" | "file" | "textarea" | "input";

interface Field {
  readonly name: string;
  readonly widget: Widget;
  readonly options: readonly Option[];
  readonly fallback: unknown;
  readonly isRequired: boolean;
}

/** Returns the members of a schema, or of all its alternatives, and whether each is required. */
export function membersOf({ properties, required, oneOf = [] }: JsonSchema) {
  const members: Record<string, JsonSchema> = { ...properties };
  for (const alternative of oneOf) Object.assign(members, alternative.properties);
  const requiredNames = required ?? oneOf[0]?.required ?? [];
  return Object.entries(members).map(
    ([name, member]) => [name, member, requiredNames.includes(name)] as const,
  );
}

function toFields(schema: JsonSchema, choices: Choices = {}): Field[] {
  return membersOf(schema).map(([name, member, isRequired]) => {
    const values = (member.items ?? member).enum ?? [];
    const options = choices[name] ?? values.map((value) => [value, optionLabel(value)] as const);
    const widget = widgetFor(member, options);
    return { name, widget, options, fallback: member.default, isRequired };
  });
}

function optionLabel(value: string): string {
  const labels: Hints = SCOPE_LABELS;
  return labels[value] === undefined ? value : `${labels[value]} (${value})`;
}

/** Text without a maximum length is a file upload or pasted text. */
function widgetFor(
  { type, items, maxLength, format }: JsonSchema,
  options: readonly Option[],
): Widget {
  if (type === "boolean") return "checkbox";
  if (type === "array") return items?.enum ? "checkboxes" : "lines";
  if (options.length > 0) return "select";
  if (maxLength === undefined) return "file";
  return Number(maxLength) > LINE_CHARS && format === undefined ? "textarea" : "input";
}

/** Returns the label of a member in sentence case: "Redirect URIs". */
export function labelFor(member: string): string {
  const words = member
    .replace(/_at$/, "")
    .replaceAll("_", " ")
    .replace(/\b(id|ur[il])(?=s?\b)/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Builds the body from submitted fields. An empty field counts as absent. */
export function parseFields(fields: ReadonlyMap<string, string>, schema: JsonSchema): FormValues {
  const parsed = toFields(schema).map((field) => [field.name, parseField(fields, field)]);
  return Object.fromEntries(parsed);
}

function parseField(
  fields: ReadonlyMap<string, string>,
  { name, widget, options, fallback, isRequired }: Field,
): unknown {
  const text = (fields.get(name) ?? fields.get(`${name}-text`))?.replaceAll("\r\n", "\n");
  switch (widget) {
    case "checkbox":
      return fields.has(name);
    case "checkboxes":
      return options.map(([value]) => value).filter((value) => fields.has(`${name}.${value}`));
    case "lines":
      return text?.split("\n").flatMap((line) => line.trim() || []);
    case "file":
      return text;
    default:
      return text ?? (isRequired ? "" : fallback);
  }
}

/** Returns the submitted form with the error's issues at their fields. */
export function formWithErrors(values: FormValues, error: AppError): Form {
  const { details } = error;
  const { status, detail } = explain(error);
  const issues: readonly FieldError[] = "errors" in details ? details.errors : [{ detail }];
  const errors = new Map<string, string>();
  for (const issue of issues.slice(0, ISSUES_MAX)) {
    const [, name = "", position] = (issue.pointer ?? "").split("/");
    const subject = position ? `Entry ${Number(position) + 1}` : "It";
    const message = name ? `${subject} ${issue.detail}.` : issue.detail;
    const earlier = errors.get(name);
    errors.set(name, earlier ? `${earlier} ${message}` : message);
  }
  if (issues.length > ISSUES_MAX) errors.set("", detail);
  return { values, errors, status };
}

/** Renders all fields, with defaults in those without a value, below the issues of the whole form. */
export function renderFields(
  { values, errors }: Form,
  schema: JsonSchema,
  hints: Hints = {},
  choices?: Choices,
): Html {
  const fields = toFields(schema, choices).map((field) => {
    const value = [values[field.name] ?? field.fallback ?? ""].flat().map(String);
    return renderField(field, value, hints[field.name], errors?.get(field.name));
  });
  return html`${errors && alertBox("alert", errors.get("") ?? NOTHING_CHANGED)}${fields}`;
}

const NOTHING_CHANGED = "Nothing was changed. Correct the fields below.";

/** Ids link label, control, issue and hint for screen readers. */
function renderField(
  { name, widget, options, isRequired }: Field,
  value: readonly string[],
  hint: Renderable,
  error: Renderable,
): Html {
  const label = labelFor(name);
  const noteId = `${name}-${error ? "error" : "hint"}`;
  const note = html`<div id="${noteId}">${error && html`<p class="error">${error}</p>`}${hint && muted(hint)}</div>`;
  const checkbox = (fieldName: string, option: string, text: string) =>
    html`<label><input type="checkbox" name="${fieldName}" value="on"${value.includes(option) && html` checked`}> ${text}</label>`;
  if (widget === "checkbox" || widget === "checkboxes") {
    // Each option has its own name, because a repeated field name is rejected.
    const boxes =
      widget === "checkbox"
        ? checkbox(name, "true", label)
        : options.map(([option, text]) => checkbox(`${name}.${option}`, option, text));
    const legend = widget === "checkboxes" && html`<legend>${label}</legend>`;
    return html`<fieldset aria-describedby="${noteId}">${legend}${boxes}${note}</fieldset>`;
  }
  const attributes = html`id="${name}" name="${name}" aria-describedby="${noteId}"${error && html` aria-invalid="true"`}${isRequired && widget !== "file" && html` required`}`;
  const control = renderControl(widget, name, attributes, value, options);
  return html`<div><label for="${name}">${label}${!isRequired && html` <small>optional</small>`}</label>${control}${note}</div>`;
}

function renderControl(
  widget: Widget,
  name: string,
  attributes: Html,
  value: readonly string[],
  options: readonly Option[],
): Html {
  const text = value.join("\n");
  switch (widget) {
    case "select": {
      const items = options.map(
        ([option, label]) =>
          html`<option value="${option}"${value.includes(option) && html` selected`}>${label}</option>`,
      );
      return html`<select ${attributes}>${items}</select>`;
    }
    case "input":
      return html`<input ${attributes} value="${text}" autocomplete="off">`;
    case "file": {
      // Rendering ten megabytes again would block other requests, and the user still has the file.
      const pasted = html`name="${name}-text" aria-label="Pasted text"`;
      return html`<input type="file" ${attributes}> or paste it here: ${textarea(pasted, text.length > SHOWN_CHARS ? "" : text)}`;
    }
    default:
      return textarea(attributes, text);
  }
}

/** HTML drops a line break at the start of a textarea, so the template adds one. */
const textarea = (attributes: Html, text: string): Html =>
  html`<textarea ${attributes} rows="4">\n${text}</textarea>`;
