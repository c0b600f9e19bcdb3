// The way through a request for the test controls (contract, part 10). The door is built only where somebody asked for it.
// It opens to the start-up API key and to nothing else, so it opens while the account is suspended and after the key has
// been deleted from it. Order of checks: credential 401, key 403, path 404, method 405, query 400, body 415, 400, 422.
import { timingSafeEqual } from "node:crypto";
import { bearerToken, sha256 } from "../domain/access.ts";
import { type FieldError, notFound, Refusal, refuse } from "../domain/refusal.ts";
import { object, parse, pointer } from "../kit/schema.ts";
import { parseJson, unfitMediaType } from "./body.ts";
import { type Call, empty, jsonReply, type Reply } from "./call.ts";
import type { ControlRow } from "./control-table.ts";
import type { Door } from "./front.ts";
import { CONTROL_PREFIX } from "./links.ts";
import { type ProblemLinks, problem } from "./problem.ts";
import { queryOf } from "./query.ts";
import type { RawQuery } from "./route.ts";

/** A snapshot of a hundred thousand apps fits. */
const BODY_BYTES = 256 * 1024 * 1024;

export interface ControlDoorParts {
  readonly rows: readonly ControlRow[];
  readonly links: ProblemLinks;
  /** The start-up API key in clear. */
  readonly key: () => string | null;
}

export const controlDoor =
  (parts: ControlDoorParts): Door =>
  (call) =>
    call.path === CONTROL_PREFIX || call.path.startsWith(`${CONTROL_PREFIX}/`) ? answer(parts, call) : undefined;

async function answer({ rows, links, key }: ControlDoorParts, call: Call): Promise<Reply> {
  const reply = unfitCredential(call, key()) ?? (await route(rows, call));
  return reply instanceof Refusal ? problem(reply, call.id, links) : reply;
}

function unfitCredential(call: Call, key: string | null): Refusal | undefined {
  const token = bearerToken(call.values("authorization"));
  if (token instanceof Refusal) return token;
  const isIt = key !== null && timingSafeEqual(Buffer.from(sha256(token)), Buffer.from(sha256(key)));
  const detail = "The test controls take the start-up API key and no other credential.";
  return isIt ? undefined : refuse({ code: "insufficient_scope", scope: "admin", detail });
}

async function route(rows: readonly ControlRow[], call: Call): Promise<Reply | Refusal> {
  const path = call.path.slice(CONTROL_PREFIX.length);
  const there = rows.filter((row) => leads(row.path, path));
  if (there.length === 0) return notFound("path");
  const row = there.find(({ method }) => method === (call.method === "HEAD" ? "GET" : call.method));
  if (row === undefined) return refuse({ code: "method_not_allowed", allow: there.map(({ method }) => method) });
  const faults: FieldError[] = [];
  const query = queryOf(call.query, faults);
  faults.push(...unfitQuery(row, query));
  if (faults.length > 0) return refuse({ code: "invalid_parameter", detail: said(faults), errors: faults });
  const body = row.body && (await readBody(row, call));
  if (body instanceof Refusal) return body;
  const result = await row.run({ query, body: body?.value, parameter: path.slice(path.lastIndexOf("/") + 1) });
  if (result instanceof Refusal) return result;
  return row.answer ? jsonReply(row.answer.status, result, { "cache-control": "no-store" }) : empty(204);
}

const leads = (template: string, path: string): boolean =>
  template === path || (template.endsWith("}") && template.replace(/\{\w+\}$/, "") === path.replace(/[^/]+$/, ""));

function unfitQuery({ query = object({}) }: ControlRow, given: RawQuery): readonly FieldError[] {
  const read = parse(query, given);
  return "faults" in read ? read.faults.map(({ path, detail }) => ({ parameter: String(path[0]), detail })) : [];
}

async function readBody(row: ControlRow, call: Call): Promise<{ readonly value: unknown } | Refusal> {
  const bytes = await call.body(BODY_BYTES);
  if (bytes instanceof Refusal) return bytes;
  const sent = unfitMediaType(call) ?? parseJson(bytes);
  if (sent instanceof Refusal || row.body === undefined) return sent;
  const read = parse(row.body, sent.value);
  if ("value" in read) return sent;
  const errors = read.faults.map(({ path, detail }) => ({ pointer: pointer(path), detail }));
  return refuse({ code: "validation_failed", errors });
}

const said = (faults: readonly FieldError[]): string =>
  `${faults.map(({ parameter, detail }) => `${parameter} ${detail}`).join("; ")}.`;
