// Forms, drawn from the JSON Schema of the body that an operation takes and the words that people read at its members. Which
// values are right the operation says; here they are only put into a form and taken out of it, and its faults become words
// at a field.
import type { Refusal } from "../domain/refusal.ts";
import { FAULTS_MAX, type JsonSchema } from "../kit/schema.ts";
import { type Html, html, type Shown } from "./html.ts";
import type { Explain } from "./page.ts";
import { notice } from "./parts.ts";

/** What stands in a form, as in a body, and after a refusal its faults by field; "" is the form as a whole. */
export interface Form {
  readonly values: { readonly [member: string]: unknown };
  readonly faults?: ReadonlyMap<string, string>;
  readonly status?: number;
}

export type Option = readonly [value: string, label: Shown];

/** How a member of the body is put to a person. */
interface Words {
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
    const { default: otherwise, ...rest } = members[name] ?? {};
    const known = valuesOf(isSchema(rest.items) ? rest.items : rest).map((each): Option => [each, each]);
    const [kind, options] = [kindOf(rest, words), words.options ?? known];
    return { name, words, kind, options, isMail: rest.format === "email", otherwise, required: required.has(name) };
  });
}

type Field = ReturnType<typeof membersIn>[number];

/** A form for something new: what the query says, or else what the operation takes where nothing is said. */
export const blankForm = (schema: JsonSchema, query: (name: string) => string | undefined): Form => {
  const members = Object.entries(membersOf(schema));
  return { values: Object.fromEntries(members.map(([name, each]) => [name, query(name) ?? each.default])) };
};

/** The body that a form makes. A field left empty is as if it had not been filled in. */
export function bodyOf(sent: ReadonlyMap<string, string>, schema: JsonSchema, fields: Fields): Form["values"] {
  const value = ({ name, kind, options, otherwise, required }: Field): unknown => {
    const text = (sent.get(name) ?? sent.get(`${name}-text`))?.replaceAll("\r\n", "\n");
    if (kind === "flag") return sent.has(name);
    if (kind === "set") return options.map(([each]) => each).filter((each) => sent.has(`${name}.${each}`));
    if (kind === "lines") return (text ?? "").split("\n").flatMap((line) => line.trim() || []);
    return text ?? (required && kind !== "file" ? "" : otherwise);
  };
  const all = membersIn(schema, fields).map((each) => [each.name, value(each)] as const);
  return Object.fromEntries(all.filter(([, each]) => each !== undefined));
}

/** The form as it was sent, with what the refusal says about it: each member of the body has a field of its own. */
export function refusedForm(values: Form["values"], refusal: Refusal, explain: Explain): Form {
  const { reason } = refusal;
  const { status, detail } = explain(refusal);
  const errors = "errors" in reason && reason.errors ? reason.errors : [{ detail }];
  const faults = new Map<string, string>();
  for (const error of errors.slice(0, FAULTS_MAX)) {
    const [, name = ""] = /^#\/([^/]+)/.exec(("pointer" in error && error.pointer) || "") ?? [];
    faults.set(name, [faults.get(name), error.detail].filter(Boolean).join("; "));
  }
  if (errors.length > FAULTS_MAX) faults.set("", detail);
  return { values, faults, status };
}

/** All fields, and above them what is wrong with the form as a whole. */
export const controls = (form: Form, schema: JsonSchema, fields: Fields): Html =>
  html`${form.faults && notice("bad", form.faults.get("") ?? MARKED)}${membersIn(schema, fields).map((each) => drawn(form, each))}`;

const MARKED = "Nothing was changed yet: please look at what is marked below.";

/** Label, hint, the control and its fault, tied together for those who do not see them side by side. */
function drawn({ values, faults }: Form, field: Field): Html {
  const { name, words, kind, options, required } = field;
  const { label, hint } = words;
  const fault = faults?.get(name);
  const said = fault !== undefined && html`<p class="fault" id="${name}-fault">It ${fault}.</p>`;
  const held = [values[name] ?? ""].flat().map(String);
  if (kind === "flag") return checkbox(name, values[name] === true, label);
  if (kind === "set") {
    const drawnOption = ([each, meaning]: Option) =>
      // One of a set has a name of its own, because a form that names a field twice is refused.
      checkbox(
        `${name}.${each}`,
        held.includes(each),
        html`${meaning !== each && meaning} <code class="soft">${each}</code>`,
      );
    return html`<fieldset><legend>${label}</legend>${options.map(drawnOption)}${said}</fieldset>`;
  }
  const described = [hint && `${name}-hint`, said && `${name}-fault`].filter(Boolean).join(" ");
  const attributes = html`id="${name}" name="${name}"${described && html` aria-describedby="${described}"`}${said && html` aria-invalid="true"`}`;
  return html`<div class="field"><label for="${name}">${label}${!required && html` <span class="soft">optional</span>`}</label>
${control(field, attributes, held)}${said}${hint && html`<p class="soft" id="${name}-hint">${hint}</p>`}</div>
${kind === "file" && html`<div class="field"><label for="${name}-text">Or paste it here</label>${textarea(html`id="${name}-text" name="${name}-text"`, held)}</div>`}`;
}

function control({ words, kind, options, isMail, required }: Field, attributes: Html, held: readonly string[]): Html {
  const must = required && html` required`;
  const drawnOption = ([each, label]: Option) =>
    html`<option value="${each}"${held.includes(each) && html` selected`}>${label}</option>`;
  if (kind === "choice") return html`<select ${attributes}>${options.map(drawnOption)}</select>`;
  if (kind === "file") return html`<input ${attributes} type="file" accept="${words.accept}">`;
  if (kind !== "line") return textarea(html`${attributes}${must}`, held);
  return html`<input ${attributes}${must} type="${isMail ? "email" : "text"}" value="${held}" autocomplete="off">`;
}

/** HTML drops a line break at the start of a textarea, so one is put there to be dropped. */
const textarea = (attributes: Html, held: readonly string[]): Html =>
  html`<textarea ${attributes} rows="4">\n${held.join("\n")}</textarea>`;

const checkbox = (name: string, checked: boolean, label: Shown): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="on"${checked && html` checked`}> <span>${label}</span></label>`;

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
