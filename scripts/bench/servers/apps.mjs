// What the servers compared with have in common: the app, its rules, and where apps are kept. As little as an honest
// server can do: no events, no limits, no ETag, no indexes but an array a filter.
import { randomUUID } from "node:crypto";

export const KEY = process.env.BENCH_KEY;
export const PORT = Number(process.env.BENCH_PORT);
export const AUTHORIZATION = `Bearer ${KEY}`;

const byId = new Map();
const all = [];

export const find = (id) => byId.get(id);

export function page(limit, offset) {
  return { data: all.slice(offset, offset + limit), total: all.length, limit, offset };
}

export function create({ title, description = "", theme = "light", public: shared = false }) {
  const now = new Date().toISOString();
  const app = {
    id: `app_${randomUUID()}`,
    title,
    description,
    theme,
    public: shared,
    created_at: now,
    updated_at: now,
  };
  byId.set(app.id, app);
  all.push(app);
  return app;
}

export function fault(draft) {
  if (typeof draft !== "object" || draft === null || Array.isArray(draft)) return "body must be an object";
  const { title, description, theme, public: shared } = draft;
  if (typeof title !== "string" || title.length < 1 || title.length > 200) return "title must have 1 to 200 characters";
  if (description !== undefined && (typeof description !== "string" || description.length > 5000)) return "description";
  if (theme !== undefined && (typeof theme !== "string" || theme.length < 1 || theme.length > 64)) return "theme";
  return shared === undefined || typeof shared === "boolean" ? undefined : "public must be true or false";
}

export const wholeNumber = (text, fallback, max) => {
  if (text === null || text === undefined) return fallback;
  const value = Number(text);
  return Number.isInteger(value) && value >= 0 && value <= max ? value : undefined;
};
