// Forms, drawn from the JSON Schema of the body that an operation takes and the words that people read at its members. Which
// values are right the operation says; here they are only put into a form and taken out of it, and its faults become words
// at a field.
import type { FieldError, Refusal } from "../domain/refusal.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { type Html, html, type Shown } from "./html.ts";
import { notice } from "./parts.ts";
import { isSchema, membersOf, requiredOf, valuesOf } from "./schemas.ts";

/** What stands in a form, and after a refusal its faults by field; "" is the form as a whole. */
export interface Form {
  readonly values: ReadonlyMap<string, string>;
  readonly faults: ReadonlyMap<string, string>;
}

export type Option = readonly [value: string, label: Shown];

/** How a member of the body is put to a person. */
export interface Words {
  readonly label: Shown;
  readonly hint?: Shown;
  /** What the schema's values mean, or which there are where it does not say. */
  readonly options?: readonly Option[];
  /** The value is a file of these types, or text that is pasted. */
  readonly accept?: string;
}

/** The members that a form asks for, in its order. */
export type Fields = { readonly [member: string]: Words };

type Kind = "flag" | "set" | "lines" | "choice" | "file" | "text" | "line";

/** So long a text has lines. */
const LINE_MAX = 1_000;

function kindOf({ type, items, enum: values, maxLength, format }: JsonSchema, { options, accept }: Words): Kind {
  if (accept) return "file";
  if (type === "boolean") return "flag";
  if (type === "array") return isSchema(items) && items.enum ? "set" : "lines";
  if (options || values) return "choice";
  return Number(maxLength) > LINE_MAX && format === undefined ? "text" : "line";
}

/** Every field with its member and its kind. */
const eachOf = (schema: JsonSchema, fields: Fields) => {
  const members = membersOf(schema);
  return Object.entries(fields).map(([name, words]) => {
    const member = members[name] ?? {};
    const options =
      words.options ?? valuesOf(isSchema(member.items) ? member.items : member).map((each) => [each, each] as const);
    return { name, words, member, kind: kindOf(member, words), options };
  });
};

/** A form that holds these values: the members of a resource, or of a query. */
export function formOf(values: object, faults: Form["faults"] = new Map()): Form {
  const held = new Map<string, string>();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "string") held.set(name, value);
    if (value === true) held.set(name, "on");
    if (!Array.isArray(value)) continue;
    held.set(name, value.join("\n"));
    for (const each of value) held.set(`${name}.${each}`, "on");
  }
  return { values: held, faults };
}

/** A form for something new: what the operation takes where nothing is said. */
export const blankForm = (schema: JsonSchema, query: (name: string) => string | undefined = () => undefined): Form =>
  formOf(
    Object.fromEntries(Object.entries(membersOf(schema)).map(([name, each]) => [name, query(name) ?? each.default])),
  );

/** The body that a form makes. A field left empty is as if it had not been filled in. */
export function bodyOf(sent: ReadonlyMap<string, string>, schema: JsonSchema, fields: Fields): Record<string, unknown> {
  const required = requiredOf(schema);
  const value = ({ name, kind, member, options }: ReturnType<typeof eachOf>[number]): unknown => {
    const text = sent.get(name)?.replaceAll("\r\n", "\n");
    if (kind === "flag") return sent.has(name);
    if (kind === "set") return options.map(([each]) => each).filter((each) => sent.has(`${name}.${each}`));
    if (kind === "lines") return (text ?? "").split("\n").flatMap((line) => line.trim() || []);
    if (kind === "file") return sent.get(name) ?? sent.get(`${name}-text`);
    return text ?? (required.has(name) ? "" : member.default);
  };
  const all = eachOf(schema, fields).map((each) => [each.name, value(each)] as const);
  return Object.fromEntries(all.filter(([, each]) => each !== undefined));
}

/** The form as it was sent, with what the refusal says about it. */
export function refusedForm(values: Form["values"], { reason }: Refusal, detail: string): Form {
  const errors = "errors" in reason ? (reason.errors ?? []) : [];
  const faults = new Map<string, string>(errors.length === 0 ? [["", detail]] : []);
  for (const error of errors) {
    const before = faults.get(fieldOf(error));
    faults.set(fieldOf(error), before === undefined ? error.detail : `${before}; ${error.detail}`);
  }
  return { values, faults };
}

/** The member of the body that an error is about: each has a field of its own. */
const fieldOf = ({ pointer: at = "" }: FieldError): string => /^#\/([^/]+)/.exec(at)?.[1] ?? "";

/** All fields, and above them what is wrong with the form as a whole. */
export function controls(form: Form, schema: JsonSchema, fields: Fields): Html {
  const required = requiredOf(schema);
  const whole = form.faults.get("");
  const marked = form.faults.size > 0 && "Nothing was changed yet: please look at what is marked below.";
  return html`${(whole || marked) && notice("bad", whole ?? marked)}${eachOf(schema, fields).map(
    ({ name, words, member, kind, options }) => {
      const value = form.values.get(name);
      const field = (draw: (attributes: Html) => Html) => labelled(form, name, words, required.has(name), draw);
      const must = required.has(name) && html` required`;
      switch (kind) {
        case "flag":
          return checkbox(form, name, words.label);
        case "set":
          return checkboxes(form, name, words.label, options);
        case "choice":
          return field(
            (attributes) =>
              html`<select ${attributes}>${options.map(([each, label]) => html`<option value="${each}"${each === value && html` selected`}>${label}</option>`)}</select>`,
          );
        case "file":
          return html`${field((attributes) => html`<input ${attributes} type="file" accept="${words.accept}">`)}
<div class="field"><label for="${name}-text">Or paste it here</label>${textarea(html`id="${name}-text" name="${name}-text" rows="6"`, form.values.get(`${name}-text`))}</div>`;
        case "line":
          return field(
            (attributes) =>
              html`<input ${attributes}${must} type="${member.format === "email" ? "email" : "text"}" value="${value}" autocomplete="off">`,
          );
        default:
          return field((attributes) => textarea(html`${attributes}${must} rows="3"`, value));
      }
    },
  )}`;
}

/** HTML drops a line break at the start of a textarea, so one is put there to be dropped. */
const textarea = (attributes: Html, value: string | undefined): Html =>
  html`<textarea ${attributes}>\n${value}</textarea>`;

/** Label, hint, the control and its fault, tied together for those who do not see them side by side. */
function labelled(
  { faults }: Form,
  name: string,
  { label, hint }: Words,
  required: boolean,
  draw: (attributes: Html) => Html,
): Html {
  const fault = faults.get(name);
  const described = [hint ? `${name}-hint` : "", fault === undefined ? "" : `${name}-fault`].filter(Boolean).join(" ");
  const attributes = html`id="${name}" name="${name}"${described && html` aria-describedby="${described}"`}${fault !== undefined && html` aria-invalid="true"`}`;
  return html`<div class="field"><label for="${name}">${label}${!required && html` <span class="soft">optional</span>`}</label>
${draw(attributes)}${faultOf(name, fault)}${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`;
}

const faultOf = (name: string, fault: string | undefined): Shown =>
  fault !== undefined && html`<p class="fault" id="${name}-fault">It ${fault}.</p>`;

const checkbox = ({ values }: Form, name: string, label: Shown): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="on"${values.has(name) && html` checked`}> <span>${label}</span></label>`;

/** Several of a set: one box each, named `<name>.<value>`, because a form that names a field twice is refused. */
const checkboxes = (form: Form, name: string, legend: Shown, options: readonly Option[]): Html =>
  html`<fieldset><legend>${legend}</legend>
${options.map(([value, label]) => checkbox(form, `${name}.${value}`, label === value ? html`<code>${value}</code>` : html`${label} <code class="soft">${value}</code>`))}${faultOf(name, form.faults.get(name))}</fieldset>`;
