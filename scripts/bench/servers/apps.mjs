// What the servers compared with have in common: apps, their rules and what each route answers, as little as an honest
// server can do: no events, no limits, no indexes but an array a filter, and of conditional requests only what
// `If-None-Match: *` asks.
import { randomUUID } from "node:crypto";

export const PORT = Number(process.env.BENCH_PORT);
export const AUTHORIZATION = `Bearer ${process.env.BENCH_KEY}`;

const byId = new Map();
const all = [];
const NOTHING = [404, { error: "not found" }];

const isText = (value, min, max) => typeof value === "string" && value.length >= min && value.length <= max;

/** `old`: the app that the draft changes. */
function fault(draft, old = {}) {
  if (typeof draft !== "object" || draft === null || Array.isArray(draft)) return "body must be an object";
  const { title, description = "", theme = "light", public: shared = false } = { ...old, ...draft };
  if (!isText(title, 1, 200)) return "title must have 1 to 200 characters";
  if (!isText(description, 0, 5000)) return "description";
  if (!isText(theme, 1, 64)) return "theme";
  return typeof shared === "boolean" ? undefined : "public must be true or false";
}

const wholeNumber = (text, max) => {
  const value = Number(text);
  return Number.isInteger(value) && value >= 0 && value <= max ? value : undefined;
};

/** Each answers a status and a body. */
export function list({ limit = 20, offset = 0 }) {
  const [count, first] = [wholeNumber(limit, 100), wholeNumber(offset, Number.MAX_SAFE_INTEGER)];
  if (count === undefined || first === undefined) return [400, { error: "limit or offset" }];
  return [200, { data: all.slice(first, first + count), total: all.length, limit: count, offset: first }];
}

export function read(id, headers) {
  const app = byId.get(id);
  if (app === undefined) return NOTHING;
  return headers["if-none-match"] === "*" ? [304] : [200, app];
}

export function create(draft) {
  const wrong = fault(draft);
  if (wrong) return [422, { error: wrong }];
  const now = new Date().toISOString();
  const { title, description = "", theme = "light", public: shared = false } = draft;
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
  return [201, app];
}

export function change(id, draft) {
  const app = byId.get(id);
  if (app === undefined) return NOTHING;
  const wrong = fault(draft, app);
  return wrong ? [422, { error: wrong }] : [200, Object.assign(app, draft, { updated_at: new Date().toISOString() })];
}
