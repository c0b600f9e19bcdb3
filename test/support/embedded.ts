// A service and a client for it, closed with the test.
import assert from "node:assert/strict";
import { OptionError, type Receiver, type ServiceOptions, startService } from "../../src/index.ts";
import { Client } from "./client.ts";
import { ApiDocument } from "./openapi.ts";
import { begins } from "./patterns.ts";
import { eventually } from "./wait.ts";

export type Embedded = Awaited<ReturnType<typeof embedded>>;

/** The start of manual clocks in tests whose expectations contain timestamps. */
export const FIXED = { clock: "manual", startAt: "2026-01-01T00:00:00.000Z" } as const;

/** A service with a manual clock unless the options say otherwise; `api` uses its start-up key, on this machine. */
export async function embedded(options: ServiceOptions = {}) {
  const service = await startService({ clock: "manual", ...options });
  const { baseUrl, authUrl, apiKey: key, port } = service;
  const api = new Client({
    baseUrl: options.publicUrl === undefined ? baseUrl : `http://localhost:${port}/v1`,
    key,
  });
  return { service, api, baseUrl, authUrl, [Symbol.asyncDispose]: service.close };
}

export type Described = Awaited<ReturnType<typeof described>>;

/** A service whose every response to the client is checked against its OpenAPI document. */
export async function described(options: ServiceOptions = {}) {
  const own = await embedded(options);
  const closed = (error: unknown) => own.service.close().then(() => Promise.reject(error));
  const document = await ApiDocument.of(own.authUrl).catch(closed);
  return { ...own, api: own.api.with({ observe: document.check.bind(document) }), document };
}

/** Asserts that a start with these options fails with a one-line error; returns the line. */
export async function startRefused(options: object, says: string) {
  const error: unknown = await startService({ ...options }).then(
    (service) => service.close().then(() => `started with ${JSON.stringify(options)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof OptionError, String(error));
  begins(error.message, says);
  assert.doesNotMatch(error.message, /\n/);
  return error.message;
}

/** Resolves when `count` requests have matched a fault rule and have no response yet. */
export const struck = ({ service }: Embedded, count = 1) =>
  eventually(
    async () => service.requests.filter((one) => one.fault && one.status === null)[count - 1],
  );

/** Asserts that a fault or chaos rule is rejected with a message that contains the text. */
export const ruleRefused = (
  by: string,
  add: (rule: never) => unknown,
  rule: object,
  says: string,
) =>
  assert.throws(
    () => Reflect.apply(add, undefined, [rule]),
    ({ name, message }: Error) => {
      assert.equal(name, "OptionError");
      begins(message, `${by}…${says}`);
      return true;
    },
    JSON.stringify(rule),
  );

export const titles = ({ received }: Receiver) =>
  received.map(({ event }) => event.data.object.title);
