// All collections that a store is opened with, gathered from the models so that none can be omitted.
import * as model from "./model.ts";
import { signingKeys } from "./oauth/signing-keys.ts";
import * as oauth from "./oauth/tokens.ts";
import type { AnyCollection } from "./store.ts";

const isCollection = (value: unknown): value is AnyCollection =>
  value instanceof Object && "indexes" in value;

export const collections = Object.values<unknown>({ ...model, ...oauth, signingKeys }).filter(
  isCollection,
);
