// Forms: the fields as people see them, with what they typed and what is wrong with it. Which values are right, the
// domain's schemas say; here a form is only turned into what they check, and their faults back into words at a field.
import type { FieldError } from "../domain/refusal.ts";
import { type Refusal, refuse } from "../domain/refusal.ts";
import { parse, pointer, type Schema } from "../kit/schema.ts";
import { type Html, html, type Shown } from "./html.ts";
import { notice } from "./parts.ts";

/** A form with its values, and after a refusal its faults by field; "" is the form as a whole. */
export interface Form {
  readonly values: ReadonlyMap<string, string>;
  readonly faults: ReadonlyMap<string, string>;
}

export const formOf = (values: Readonly<Record<string, string>> = {}): Form => ({
  values: new Map(Object.entries(values)),
  faults: new Map(),
});

/** The value that the schema accepts, or all that is wrong with it. */
export function checked<T>(schema: Schema<T>, value: unknown): T | Refusal {
  const read = parse(schema, value);
  if ("value" in read) return read.value;
  const errors = read.faults.map(({ path, detail }) => ({ pointer: pointer(path), detail }));
  return refuse({ code: "validation_failed", errors });
}

/** The form as it was sent, with what the refusal says about it. */
export function refusedForm(
  values: ReadonlyMap<string, string>,
  refusal: Refusal,
  explain: (refusal: Refusal) => { readonly detail: string },
): Form {
  const { reason } = refusal;
  const errors = "errors" in reason ? (reason.errors ?? []) : [];
  const faults = new Map<string, string>();
  for (const error of errors) {
    const field = fieldOf(error);
    const before = faults.get(field);
    faults.set(field, before === undefined ? error.detail : `${before}; ${error.detail}`);
  }
  if (errors.length === 0) faults.set("", explain(refusal).detail);
  return { values, faults };
}

/** The member of the body that an error is about: each has a field of its own. */
const fieldOf = ({ pointer: at = "" }: FieldError): string => /^#\/([^/]+)/.exec(at)?.[1] ?? "";

export interface FieldRules {
  readonly name: string;
  readonly label: string;
  readonly hint?: Shown;
  readonly required?: boolean;
}

/** Label, hint, the control and its fault, tied together for those who do not see them side by side. */
function field(form: Form, { name, label, hint, required }: FieldRules, control: (attributes: Html) => Html): Html {
  const fault = form.faults.get(name);
  const described = [hint ? `${name}-hint` : "", fault === undefined ? "" : `${name}-fault`].filter(Boolean).join(" ");
  const attributes = html`id="${name}" name="${name}"${required && html` required`}${described && html` aria-describedby="${described}"`}${fault !== undefined && html` aria-invalid="true"`}`;
  return html`<div class="field"><label for="${name}">${label}${!required && html` <span class="soft">optional</span>`}</label>
${control(attributes)}${faultOf(name, fault)}${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`;
}

const faultOf = (name: string, fault: string | undefined): Shown =>
  fault !== undefined && html`<p class="fault" id="${name}-fault">It ${fault}.</p>`;

export const input = (form: Form, rules: FieldRules & { readonly type?: string }): Html =>
  field(
    form,
    rules,
    (attributes) =>
      html`<input ${attributes} type="${rules.type ?? "text"}" value="${form.values.get(rules.name)}" autocomplete="off">`,
  );

/** HTML drops a line break at the start of a textarea, so one is put there to be dropped. */
export const textarea = (form: Form, rules: FieldRules & { readonly rows: number }): Html =>
  field(
    form,
    rules,
    (attributes) => html`<textarea ${attributes} rows="${rules.rows}">\n${form.values.get(rules.name)}</textarea>`,
  );

export const file = (form: Form, rules: FieldRules & { readonly accept: string }): Html =>
  field(form, rules, (attributes) => html`<input ${attributes} type="file" accept="${rules.accept}">`);

export type Option = readonly [value: string, label: string];

export const select = (form: Form, rules: FieldRules & { readonly options: readonly Option[] }): Html =>
  field(form, rules, (attributes) => {
    const chosen = form.values.get(rules.name) ?? "";
    const options = rules.options.map(
      ([value, label]) => html`<option value="${value}"${value === chosen && html` selected`}>${label}</option>`,
    );
    return html`<select ${attributes}>${options}</select>`;
  });

export const checkbox = (form: Form, name: string, label: Shown): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="on"${form.values.has(name) && html` checked`}> <span>${label}</span></label>`;

/** Several of a set: one box each, named `<name>.<value>`, because a form that names a field twice is refused. */
export const checkboxes = (form: Form, name: string, legend: string, options: readonly Option[]): Html =>
  html`<fieldset><legend>${legend}</legend>
${options.map(([value, label]) => checkbox(form, `${name}.${value}`, label === value ? html`<code>${value}</code>` : html`${label} <code class="soft">${value}</code>`))}${faultOf(name, form.faults.get(name))}</fieldset>`;

/** Those of the set whose box was ticked. */
export const ticked = <T extends string>(fields: ReadonlyMap<string, string>, name: string, all: readonly T[]): T[] =>
  all.filter((value) => fields.has(`${name}.${value}`));

/** The boxes of a set as a form's values. */
export const ticks = (name: string, values: readonly string[]): Record<string, string> =>
  Object.fromEntries(values.map((value) => [`${name}.${value}`, "on"]));

/** What is wrong with the form as a whole. */
export const formFault = ({ faults }: Form): Shown => {
  const whole = faults.get("");
  if (whole !== undefined) return notice("bad", whole);
  return faults.size > 0 && notice("bad", "Nothing was changed yet: please look at what is marked below.");
};

/** Text of several lines, with the line breaks that the rest of the service uses. */
export const lines = (text: string | undefined): string => (text ?? "").replaceAll("\r\n", "\n");
