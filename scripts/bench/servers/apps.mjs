// What the servers compared with have in common: the app, its rules, and where apps are kept. As little as an honest
// server can do: no events, no limits, no indexes but an array a filter, and of conditional requests only what
// `If-None-Match: *` asks.
import { randomUUID } from "node:crypto";

export const PORT = Number(process.env.BENCH_PORT);
export const AUTHORIZATION = `Bearer ${process.env.BENCH_KEY}`;

const byId = new Map();
const all = [];

export const find = (id) => byId.get(id);
export const isKnown = (request) => request.headers["if-none-match"] === "*";
export const page = (limit, offset) => ({ data: all.slice(offset, offset + limit), total: all.length, limit, offset });

export function create({ title, description = "", theme = "light", public: shared = false }) {
  const now = new Date().toISOString();
  const id = `app_${randomUUID()}`;
  const app = { id, title, description, theme, public: shared, created_at: now, updated_at: now };
  byId.set(id, app);
  all.push(app);
  return app;
}

export const change = (app, draft) => Object.assign(app, draft, { updated_at: new Date().toISOString() });

const isText = (value, min, max) => typeof value === "string" && value.length >= min && value.length <= max;

/** `old`: the app that the draft changes. */
export function fault(draft, old = {}) {
  if (typeof draft !== "object" || draft === null || Array.isArray(draft)) return "body must be an object";
  const { title, description = "", theme = "light", public: shared = false } = { ...old, ...draft };
  if (!isText(title, 1, 200)) return "title must have 1 to 200 characters";
  if (!isText(description, 0, 5000)) return "description";
  if (!isText(theme, 1, 64)) return "theme";
  return typeof shared === "boolean" ? undefined : "public must be true or false";
}

export const wholeNumber = (text, fallback, max) => {
  const value = Number(text ?? fallback);
  return Number.isInteger(value) && value >= 0 && value <= max ? value : undefined;
};
