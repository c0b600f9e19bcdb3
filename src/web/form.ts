// Forms, drawn from the JSON Schema of the body that an operation takes and the words that people read at its members. Which
// values are right the operation says; here they are only put into a form and taken out of it, and its faults become words
// at a field.
import type { Refusal } from "../domain/refusal.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { type Html, html, type Shown } from "./html.ts";
import { notice } from "./parts.ts";

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

/** So long a text has lines. */
const LINE_MAX = 1_000;

function kindOf({ type, items, enum: values, maxLength, format }: JsonSchema, { options, accept }: Words) {
  if (accept) return "file";
  if (type === "boolean") return "flag";
  if (type === "array") return isSchema(items) && items.enum ? "set" : "lines";
  if (options || values) return "choice";
  return Number(maxLength) > LINE_MAX && format === undefined ? "text" : "line";
}

/** Every field with what the schema says of its member. */
function membersIn(schema: JsonSchema, fields: Fields) {
  const [members, required] = [membersOf(schema), requiredOf(schema)];
  return Object.entries(fields).map(([name, words]) => {
    const { items, format, default: otherwise, ...rest } = members[name] ?? {};
    const known = valuesOf(isSchema(items) ? items : rest).map((each): Option => [each, each]);
    const options = words.options ?? known;
    const kind = kindOf({ ...rest, items, format }, words);
    return { name, words, kind, options, format, otherwise, required: required.has(name) };
  });
}

type Field = ReturnType<typeof membersIn>[number];

/** A form that holds these values: the members of a resource, or of a query. */
export function formOf(values: object): Form {
  const held = new Map<string, string>();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "string") held.set(name, value);
    if (value === true) held.set(name, "on");
    if (!Array.isArray(value)) continue;
    held.set(name, value.join("\n"));
    for (const each of value) held.set(`${name}.${each}`, "on");
  }
  return { values: held, faults: new Map() };
}

/** A form for something new: what the query says, or else what the operation takes where nothing is said. */
export function blankForm(schema: JsonSchema, query: (name: string) => string | undefined = () => undefined): Form {
  const members = Object.entries(membersOf(schema));
  return formOf(Object.fromEntries(members.map(([name, each]) => [name, query(name) ?? each.default])));
}

/** The body that a form makes. A field left empty is as if it had not been filled in. */
export function bodyOf(sent: Form["values"], schema: JsonSchema, fields: Fields): Record<string, unknown> {
  const value = ({ name, kind, options, otherwise, required }: Field): unknown => {
    const text = sent.get(name)?.replaceAll("\r\n", "\n");
    if (kind === "flag") return sent.has(name);
    if (kind === "set") return options.map(([each]) => each).filter((each) => sent.has(`${name}.${each}`));
    if (kind === "lines") return (text ?? "").split("\n").flatMap((line) => line.trim() || []);
    if (kind === "file") return sent.get(name) ?? sent.get(`${name}-text`);
    return text ?? (required ? "" : otherwise);
  };
  const all = membersIn(schema, fields).map((each) => [each.name, value(each)] as const);
  return Object.fromEntries(all.filter(([, each]) => each !== undefined));
}

/** The form as it was sent, with what the refusal says about it: each member of the body has a field of its own. */
export function refusedForm(values: Form["values"], { reason }: Refusal, detail: string): Form {
  const errors = "errors" in reason && reason.errors ? reason.errors : [{ detail }];
  const faults = new Map<string, string>();
  for (const error of errors) {
    const [, name = ""] = /^#\/([^/]+)/.exec(("pointer" in error && error.pointer) || "") ?? [];
    faults.set(name, [faults.get(name), error.detail].filter(Boolean).join("; "));
  }
  return { values, faults };
}

/** All fields, and above them what is wrong with the form as a whole. */
export function controls(form: Form, schema: JsonSchema, fields: Fields): Html {
  const marked = form.faults.size > 0 && "Nothing was changed yet: please look at what is marked below.";
  return html`${marked && notice("bad", form.faults.get("") ?? marked)}${membersIn(schema, fields).map((each) => drawn(form, each))}`;
}

function drawn(form: Form, field: Field): Html {
  const { name, words, kind, options, format, required } = field;
  const value = form.values.get(name);
  const must = required && html` required`;
  switch (kind) {
    case "flag":
      return checkbox(form, name, words.label);
    case "set":
      return html`<fieldset><legend>${words.label}</legend>${options.map(([each, label]) => checkbox(form, `${name}.${each}`, label === each ? html`<code>${each}</code>` : html`${label} <code class="soft">${each}</code>`))}${faultOf(form, name)}</fieldset>`;
    case "choice": {
      const drawnOption = ([each, label]: Option) =>
        html`<option value="${each}"${each === value && html` selected`}>${label}</option>`;
      return labelled(form, field, (attributes) => html`<select ${attributes}>${options.map(drawnOption)}</select>`);
    }
    case "file":
      return html`${labelled(form, field, (attributes) => html`<input ${attributes} type="file" accept="${words.accept}">`)}
<div class="field"><label for="${name}-text">Or paste it here</label>${textarea(html`id="${name}-text" name="${name}-text" rows="6"`, form.values.get(`${name}-text`))}</div>`;
    case "line": {
      const type = format === "email" ? "email" : "text";
      return labelled(
        form,
        field,
        (attributes) => html`<input ${attributes}${must} type="${type}" value="${value}" autocomplete="off">`,
      );
    }
    default:
      return labelled(form, field, (attributes) => textarea(html`${attributes}${must} rows="3"`, value));
  }
}

/** HTML drops a line break at the start of a textarea, so one is put there to be dropped. */
const textarea = (attributes: Html, value: string | undefined): Html =>
  html`<textarea ${attributes}>\n${value}</textarea>`;

/** Label, hint, the control and its fault, tied together for those who do not see them side by side. */
function labelled(
  form: Form,
  { name, words: { label, hint }, required }: Field,
  control: (attributes: Html) => Html,
): Html {
  const fault = form.faults.has(name);
  const described = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(" ");
  const attributes = html`id="${name}" name="${name}"${described && html` aria-describedby="${described}"`}${fault && html` aria-invalid="true"`}`;
  return html`<div class="field"><label for="${name}">${label}${!required && html` <span class="soft">optional</span>`}</label>
${control(attributes)}${faultOf(form, name)}${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`;
}

const faultOf = ({ faults }: Form, name: string): Shown =>
  faults.has(name) && html`<p class="fault" id="${name}-fault">It ${faults.get(name)}.</p>`;

/** One of a set is named `<name>.<value>`, because a form that names a field twice is refused. */
const checkbox = ({ values }: Form, name: string, label: Shown): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="on"${values.has(name) && html` checked`}> <span>${label}</span></label>`;

export const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** By name; of all alternatives where there are several. */
export const membersOf = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> => {
  if (Array.isArray(schema.oneOf)) return Object.assign({}, ...schema.oneOf.filter(isSchema).map(membersOf));
  const named = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
  return Object.fromEntries(named.flatMap(([name, each]) => (isSchema(each) ? [[name, each]] : [])));
};

export const requiredOf = (schema: JsonSchema): ReadonlySet<unknown> => {
  const [first] = Array.isArray(schema.oneOf) ? schema.oneOf.filter(isSchema) : [schema];
  return new Set(Array.isArray(first?.required) ? first.required : []);
};

/** The values that it allows, where it lists them. */
export const valuesOf = (schema: JsonSchema | undefined): readonly string[] =>
  Array.isArray(schema?.enum) ? schema.enum.map(String) : [];
