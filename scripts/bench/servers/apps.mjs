// The same small API on a plain array, for the servers that this one is compared with. It has no events, rate limits or
// indexes. Each function returns a status and a body.
import { randomUUID } from "node:crypto";

export const AUTHORIZATION = `Bearer ${process.env.APPHOST_API_KEY}`;
export const PORT = Number(process.env.APPHOST_PORT);
const NOT_FOUND = [404, { error: "not found" }];
const byId = new Map();
const all = [];

const isText = (value, min, max) =>
  typeof value === "string" && value.length >= min && value.length <= max;

/** Returns the validation issue of an app's fields, if any. */
function findIssue({ title, description, theme, public: isPublic }) {
  if (!isText(title, 1, 200)) return "title must have 1 to 200 characters";
  if (!isText(description, 0, 5000)) return "description must have at most 5000 characters";
  if (!isText(theme, 1, 64)) return "theme must have 1 to 64 characters";
  return typeof isPublic === "boolean" ? undefined : "public must be true or false";
}

export function list({ limit = 20, offset = 0 }) {
  const [count, start] = [Number(limit), Number(offset)];
  if (!(count >= 1 && count <= 100 && start >= 0)) return [400, { error: "limit or offset" }];
  return [
    200,
    { data: all.slice(start, start + count), total: all.length, limit: count, offset: start },
  ];
}

export function read(id) {
  const app = byId.get(id);
  return app === undefined ? NOT_FOUND : [200, app];
}

export function create({ title, description = "", theme = "light", public: isPublic = false }) {
  const fields = { title, description, theme, public: isPublic };
  const issue = findIssue(fields);
  if (issue) return [422, { error: issue }];
  const now = new Date().toISOString();
  const app = { id: `app_${randomUUID()}`, ...fields, created_at: now, updated_at: now };
  byId.set(app.id, app);
  all.push(app);
  return [201, app];
}

export function update(id, fields) {
  const app = byId.get(id);
  if (app === undefined) return NOT_FOUND;
  const issue = findIssue({ ...app, ...fields });
  if (issue) return [422, { error: issue }];
  return [200, Object.assign(app, fields, { updated_at: new Date().toISOString() })];
}
