// Checks values against the schemas of our OpenAPI document (JSON Schema 2020-12). An unknown keyword or format is an
// error, so that nothing in the document goes unchecked by accident.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { type Members, members } from "./client.ts";

const ajv = new Ajv2020({
  allErrors: true,
  discriminator: true,
  strictTypes: false,
  strictRequired: false,
  formats: {
    "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
    uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
    "idn-hostname": /^[a-zA-Z\d\u0080-\u{10ffff}-]+(\.[a-zA-Z\d\u0080-\u{10ffff}-]+)*$/u,
    "idn-email": /^[^@\s]+@[^@\s]+$/,
  },
});
ajv.addVocabulary(["components", "example", "x-spec", "x-decision"]);

/** By root and text of the schema: compiling takes longer than checking. */
const validators = new WeakMap<Members, Map<string, ValidateFunction>>();

/** Returns every violation of `schema` by `value`; resolves references in `root`. */
export function breaches(value: unknown, schema: Members, root: Members): string[] {
  const compiled = validators.get(root) ?? new Map<string, ValidateFunction>();
  validators.set(root, compiled);
  const text = JSON.stringify(schema);
  const validate = compiled.get(text) ?? ajv.compile({ ...schema, components: root.components });
  compiled.set(text, validate);
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message }) => `#${instancePath} ${message}`);
}

/** Resolves a JSON pointer such as #/components/schemas/App. */
export function resolve(root: Members, reference: string): Members {
  const steps = reference.split("/").slice(1);
  const names = steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return members(names.reduce<unknown>((parent, name) => members(parent)[name], root));
}
