// Idempotency-Key on a POST (contract, part 4). The first response is stored in the transaction of the change, so that
// a crash leaves both or neither. It is replayed for the same request within 24 hours. An error changed nothing: it is
// not stored, and the request runs again. Values shown once are null in the stored response.
import { createHash } from "node:crypto";
import { fail } from "../domain/errors.ts";
import { idempotency } from "../domain/model.ts";
import type { Tx } from "../domain/store.ts";
import type { UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { parseIso, toIso } from "../lib/clock.ts";
import type { HttpRequest, HttpResponse } from "./message.ts";
import type { Result } from "./router.ts";

export const KEY_MAX = 255;
const RETENTION_MS = 24 * 3_600_000;

const KEY_REUSED = fail({
  code: "idempotency_key_reused",
  errors: [
    {
      header: "Idempotency-Key",
      detail: "was used for another request; use a new key for a new one",
    },
  ],
});

export interface IdempotencyDeps {
  readonly unit: UnitOfWorkDeps;
  /** Ids of the keys whose first request is running. */
  readonly keysInProgress: Set<string>;
}

/** A request with an Idempotency-Key. */
export interface IdempotentRequest {
  readonly key: string;
  /** The caller's credential; keys of different credentials are unrelated. */
  readonly credential: string;
  readonly request: HttpRequest;
  readonly body?: Buffer | undefined;
}

/** Stores the response to replay. */
export type SaveResponse = (tx: Tx, response: HttpResponse) => Promise<void>;

/** Replays the stored response for this key, or runs the operation, which stores its response with `save`. */
export async function withIdempotency(
  { unit: { store, clock }, keysInProgress }: IdempotencyDeps,
  { key, credential, request, body }: IdempotentRequest,
  run: (save: SaveResponse) => Promise<Result>,
): Promise<Result> {
  const id = hash(credential, key);
  const fingerprint = hash(request.method, `${request.path}?${request.query}`, body ?? "");
  const isFirst = !keysInProgress.has(id);
  keysInProgress.add(id);
  try {
    const stored = await store.get(idempotency, id);
    if (stored && parseIso(stored.expires_at) > clock.now()) {
      const { status, headers, body } = stored;
      return stored.fingerprint === fingerprint
        ? { status, headers: { ...headers, "idempotency-replayed": "true" }, body }
        : KEY_REUSED;
    }
    if (!isFirst) return fail({ code: "idempotency_in_progress" });
    return await run(async (tx, { status, headers, body }) =>
      tx.put(idempotency, {
        id,
        fingerprint,
        status,
        headers,
        body,
        expires_at: toIso(clock.now() + RETENTION_MS),
        partition: "idempotency",
      }),
    );
  } finally {
    if (isFirst) keysInProgress.delete(id);
  }
}

/** The lengths keep the parts apart. */
function hash(...parts: readonly (string | Buffer)[]): string {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(`${part.length}:`).update(part);
  return digest.digest("base64url");
}
