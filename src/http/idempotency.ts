// Idempotency-Key on a POST (contract, part 4). The first response is stored in the transaction of the change, so that
// a crash leaves both or neither. It is replayed for the same request within 24 hours. An error changed nothing: it is
// not stored, and the request runs again. Values shown once are null in the stored response.
import { sha256 } from "../domain/credentials.ts";
import { fail } from "../domain/errors.ts";
import { idempotency } from "../domain/model.ts";
import type { Tx } from "../domain/store.ts";
import type { UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { parseIso, toIso } from "../lib/clock.ts";
import type { HttpRequest, HttpResponse } from "./message.ts";
import type { Result } from "./router.ts";

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

/** Stores the response to replay. */
export type SaveResponse = (tx: Tx, response: HttpResponse) => Promise<void>;

/**
 * Replays the stored response for this key, or runs the operation, which stores its response with `save`. Keys of
 * different credentials are unrelated.
 */
export async function withIdempotency(
  { unit: { store, clock }, keysInProgress }: IdempotencyDeps,
  key: string,
  credential: string,
  { method, path, query }: HttpRequest,
  body: Buffer | undefined,
  run: (save: SaveResponse) => Promise<Result>,
): Promise<Result> {
  const id = sha256(`${credential} ${key}`);
  const fingerprint = sha256([method, path, query, body?.toString("latin1")].join(" "));
  const isFirst = !keysInProgress.has(id);
  keysInProgress.add(id);
  try {
    const stored = await store.get(idempotency, id);
    if (stored && parseIso(stored.expires_at) > clock.now()) {
      if (stored.fingerprint !== fingerprint) return KEY_REUSED;
      const { status, headers, body } = stored;
      return { status, headers: { ...headers, "idempotency-replayed": "true" }, body };
    }
    if (!isFirst) return fail({ code: "idempotency_in_progress" });
    return await run(async (tx, response) =>
      tx.put(idempotency, {
        ...response,
        id,
        fingerprint,
        expires_at: toIso(clock.now() + RETENTION_MS),
        partition: "idempotency",
      }),
    );
  } finally {
    if (isFirst) keysInProgress.delete(id);
  }
}
