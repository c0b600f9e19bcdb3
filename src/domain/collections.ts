// Every kind of record that there is, as a store is opened with: none that a model declares can be forgotten.
import * as model from "./model.ts";
import * as grants from "./oauth/grants.ts";
import * as keys from "./oauth/signing-keys.ts";
import type { AnyCollection } from "./store.ts";

const isCollection = (value: unknown): value is AnyCollection =>
  value instanceof Object && "indexes" in value;

export const collections = Object.values<unknown>({ ...model, ...grants, ...keys }).filter(
  isCollection,
);
