// Forms, drawn from the JSON Schema of the body that an operation takes: its members are the fields, called what the API
// calls them. Which values are right the operation says; here they are only put into a form and taken out of it, and its
// faults become words at a field.
import type { FieldError, Refusal } from "../domain/refusal.ts";
import { explain } from "../http/problem.ts";
import { FAULTS_MAX, type JsonSchema } from "../kit/schema.ts";
import { type Html, html, type Shown } from "./html.ts";
import { notice, SCOPES_IN_WORDS, soft } from "./parts.ts";

/** What stands in a form, as in a body, and after a refusal its faults by field; "" is the form as a whole. */
export interface Form {
  readonly values: { readonly [member: string]: unknown };
  readonly faults?: ReadonlyMap<string, string>;
  readonly status?: number;
}

type Option = readonly [value: string, label: Shown];

/** What people read at some members, and what they choose from where the schema does not say. */
export type Hints = { readonly [member: string]: string };
export type Choices = { readonly [member: string]: readonly Option[] };

/** So long a text has lines. */
const LINE_MAX = 1_000;

/** So much of what was sent in vain comes back in the form. */
const BACK_MAX = 65_536;

/** How a member is asked for: text without a bound is a file, or what is pasted instead. */
function kindOf({ type, items, maxLength, format }: JsonSchema, options: readonly Option[]) {
  if (type === "boolean") return "flag";
  if (type === "array") return items?.enum ? "set" : "lines";
  if (options.length > 0) return "choice";
  if (maxLength === undefined) return "file";
  return Number(maxLength) > LINE_MAX && format === undefined ? "text" : "line";
}

const MEANINGS: { readonly [value: string]: string } = SCOPES_IN_WORDS;
const option = (value: string): Option => [value, value in MEANINGS ? `${MEANINGS[value]} (${value})` : value];

/** Every field with what the schema says of its member. */
function fieldsOf(schema: JsonSchema, hints: Hints = {}, choices: Choices = {}) {
  return membersOf(schema).map(([name, member, required]) => {
    const options = choices[name] ?? (member.items ?? member).enum?.map(option) ?? [];
    return { name, hint: hints[name], kind: kindOf(member, options), options, otherwise: member.default, required };
  });
}

type Field = ReturnType<typeof fieldsOf>[number];

/** The body that a form makes. A field left empty is as if it had not been filled in. */
export function bodyOf(sent: ReadonlyMap<string, string>, schema: JsonSchema): Form["values"] {
  const value = ({ name, kind, options, otherwise, required }: Field): unknown => {
    const text = (sent.get(name) ?? sent.get(`${name}-text`))?.replaceAll("\r\n", "\n");
    if (kind === "flag") return sent.has(name);
    if (kind === "set") return options.map(([each]) => each).filter((each) => sent.has(`${name}.${each}`));
    if (kind === "lines") return (text ?? "").split("\n").flatMap((line) => line.trim() || []);
    return text ?? (required && kind !== "file" ? "" : otherwise);
  };
  const all = fieldsOf(schema).map((each) => [each.name, value(each)] as const);
  return Object.fromEntries(all.filter(([, each]) => each !== undefined));
}

/** The form as it was sent, with what the refusal says about it: each member of the body has a field of its own. */
export function refusedForm(values: Form["values"], refusal: Refusal): Form {
  const { reason } = refusal;
  const { status, detail } = explain(refusal);
  const errors: readonly FieldError[] = "errors" in reason ? reason.errors : [{ detail }];
  const faults = new Map<string, string>();
  for (const { pointer = "", detail: said } of errors.slice(0, FAULTS_MAX)) {
    const [, name = "", ...within] = pointer.split("/");
    faults.set(name, [faults.get(name), name ? `${whichOf(within)} ${said}.` : said].filter(Boolean).join(" "));
  }
  if (errors.length > FAULTS_MAX) faults.set("", detail);
  return { values, faults, status };
}

/** A place in what a field holds, as people count. */
const whichOf = ([at, ...more]: readonly string[]): string =>
  at === undefined ? "It" : [`Entry ${Number(at) + 1}`, ...more].join(", ");

/** All fields, what is taken where nothing is said in those without a value; above them what is wrong with the whole. */
export function controls({ values, faults }: Form, schema: JsonSchema, hints?: Hints, choices?: Choices): Html {
  const all = fieldsOf(schema, hints, choices);
  const first = all.find(({ name }) => faults?.has(name))?.name;
  const fields = all.map((each) => {
    const held = [values[each.name] ?? each.otherwise ?? ""].flat();
    return drawn(each, held.map(String), faults?.get(each.name), each.name === first);
  });
  return html`${faults && notice("bad", faults.get("") ?? MARKED)}${fields}`;
}

const MARKED = "Nothing was changed yet: please look at what is marked below.";

/** What people call a member. */
const labelOf = (name: string): string =>
  name.replaceAll("_", " ").replace(/\b(id|ur[il])(?=s?\b)|^./g, (part) => part.toUpperCase());

/** Label, control, fault and hint, tied together for those who do not see them side by side; `isFirst` of those at fault. */
function drawn(field: Field, held: readonly string[], fault: string | undefined, isFirst: boolean): Html {
  const { name, kind, options, required, hint } = field;
  const label = labelOf(name);
  const id = `${name}-${fault ? "fault" : "hint"}`;
  const told =
    (fault || hint) && html`<div id="${id}">${fault && html`<p class="fault">${fault}</p>`}${hint && soft(hint)}</div>`;
  const tied = html`${told && html` aria-describedby="${id}"`}`;
  const focus = isFirst && html` autofocus`;
  const checkbox = (own: string, checked: boolean, text: Shown, more: Shown) =>
    html`<label class="check"><input type="checkbox" name="${own}" value="on"${checked && html` checked`}${more}> <span>${text}</span></label>`;
  if (kind === "flag")
    return html`<div class="field">${checkbox(name, held[0] === "true", label, [tied, focus])}${told}</div>`;
  // One of a set has a name of its own, because a form that names a field twice is refused.
  const oneOf = ([each, text]: Option, at: number) =>
    checkbox(`${name}.${each}`, held.includes(each), text, at === 0 && focus);
  if (kind === "set") return html`<fieldset${tied}><legend>${label}</legend>${options.map(oneOf)}${told}</fieldset>`;
  const choice = ([each, text]: Option) =>
    html`<option value="${each}"${held.includes(each) && html` selected`}>${text}</option>`;
  const own = html`id="${name}" name="${name}"${tied}${fault && html` aria-invalid="true"`}${focus}`;
  const must = html`${own}${required && html` required`}`;
  const line = kind === "line" ? html`<input ${must} value="${held}" autocomplete="off">` : textarea(must, held);
  const file = kind === "file" ? html`<input ${own} type="file">` : line;
  const control = kind === "choice" ? html`<select ${own}>${options.map(choice)}</select>` : file;
  // What was sent from a file is there still, and a page of ten megabytes would hold up others.
  const back = held.join("").length > BACK_MAX ? [] : held;
  const pasted = html`<div class="field"><label for="${name}-text">Or, without a file, paste it here</label>${textarea(html`id="${name}-text" name="${name}-text"`, back)}</div>`;
  return html`<div class="field"><label for="${name}">${label}${!required && html` <span class="soft">optional</span>`}</label>
${control}${told}</div>${kind === "file" && pasted}`;
}

/** HTML drops a line break at the start of a textarea, so one is put there to be dropped. */
const textarea = (attributes: Html, held: readonly string[]): Html =>
  html`<textarea ${attributes} rows="4">\n${held.join("\n")}</textarea>`;

/** What each is called, and whether it has to be there; of all alternatives where there are several. */
export function membersOf({ properties, required, oneOf = [] }: JsonSchema) {
  const all: JsonSchema["properties"] = Object.assign({}, properties, ...oneOf.map((each) => each.properties));
  const must = required ?? oneOf[0]?.required ?? [];
  return Object.entries(all ?? {}).map(([name, member]) => [name, member, must.includes(name)] as const);
}
