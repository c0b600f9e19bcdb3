// What forms and the docs read of the JSON Schema of a body: its members, and which of them it requires.
import type { JsonSchema } from "../kit/schema.ts";

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
