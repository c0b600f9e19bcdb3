// What every refusal has to look like (spec part 7 leaves the shape open; contract, part 7: RFC 9457).
import assert from "node:assert/strict";
import { type Answer, type Members, members } from "./client.ts";

/** Asserts a whole problem document with this status and code; answers it. */
export function problem(answer: Answer, status: number, code: string): Members {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers["content-type"], "application/problem+json");
  const body = answer.json;
  assert.equal(body.code, code, answer.text);
  assert.equal(body.status, status);
  assert.match(String(body.type), /^https?:\/\/.+\/docs/);
  assert.ok(typeof body.title === "string" && body.title !== "");
  assert.ok(typeof body.detail === "string" && body.detail !== "");
  assert.equal(body.instance, answer.headers["x-request-id"]);
  return body;
}

/** The entries of `errors`: at least one, each with a detail and one of pointer, parameter and header. */
export function errorsOf(body: Members): readonly Members[] {
  const { errors } = body;
  assert.ok(Array.isArray(errors) && errors.length > 0, JSON.stringify(body));
  const entries = errors.map(members);
  for (const entry of entries) {
    assert.ok(typeof entry.detail === "string" && entry.detail !== "");
    const places = ["pointer", "parameter", "header"].filter((name) => typeof entry[name] === "string");
    assert.equal(places.length, 1, JSON.stringify(entry));
  }
  return entries;
}

/** 422 that names exactly these places in the body, whatever their order. */
export function invalid(answer: Answer, ...pointers: readonly string[]): Members {
  const body = problem(answer, 422, "validation_failed");
  assert.deepEqual(
    errorsOf(body)
      .map((entry) => entry.pointer)
      .sort(),
    [...pointers].sort(),
    answer.text,
  );
  return body;
}

/** 400 that names exactly these query parameters, whatever their order. */
export function badParameter(answer: Answer, ...names: readonly string[]): Members {
  const body = problem(answer, 400, "invalid_parameter");
  assert.deepEqual(
    errorsOf(body)
      .map((entry) => entry.parameter)
      .sort(),
    [...names].sort(),
    answer.text,
  );
  return body;
}

/** 400 that names exactly this header. */
export function badHeader(answer: Answer, name: string): Members {
  const body = problem(answer, 400, "invalid_header");
  assert.deepEqual(
    errorsOf(body).map((entry) => String(entry.header).toLowerCase()),
    [name.toLowerCase()],
    answer.text,
  );
  return body;
}
