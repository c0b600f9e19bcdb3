// Idempotency-Key on a POST (contract, part 4). The first response is stored in the transaction of the change, so that
// a crash leaves both or neither. It is replayed for the same request within 24 hours. An error changed nothing: it is
// not stored, and the request runs again. Values shown once are null in the stored response.
import { createHash } from "node:crypto";
import type { Caller } from "../domain/credentials.ts";
import { type FieldError, fail } from "../domain/errors.ts";
import { idempotency } from "../domain/model.ts";
import type { Reader, Tx } from "../domain/store.ts";
import type { UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { decide } from "../former-decisions.ts";
import { parseIso, toIso } from "../lib/clock.ts";
import type { HttpRequest, HttpResponse } from "./message.ts";
import type { Result } from "./router.ts";

const { keep_h, key_max } = decide("4.idempotency");
const KEEP_MS = keep_h * 3_600_000;
export const KEY_MAX = key_max;

/** Keys of requests in progress. */
const inProgress = new Set<string>();

const IN_PROGRESS = fail({ code: "idempotency_in_progress" });
const KEY_REUSED: readonly FieldError[] = [
  {
    header: "Idempotency-Key",
    detail: "was used for another request; use a new key for a new one",
  },
];

/** Returns the key of a POST, or undefined; adds an issue if it is malformed. */
export function parseIdempotencyKey(
  request: HttpRequest,
  issues: FieldError[],
): string | undefined {
  if (request.method !== "POST") return undefined;
  const values = request.header("idempotency-key");
  const [key] = values;
  if (key === undefined) return undefined;
  if (values.length > 1 || key.length < 1 || key.length > KEY_MAX)
    issues.push({
      header: "Idempotency-Key",
      detail: `must be sent once, with 1 to ${KEY_MAX} characters`,
    });
  return key;
}

/**
 * Replays the stored response for this key, or runs the operation and stores its response. Concurrent duplicates get an
 * error. `use` has the caller, the key and the request; `keep` stores the response in the transaction of the
 * change.
 */
export async function withIdempotency(
  { store, clock }: UnitOfWorkDeps,
  use: {
    readonly caller: Caller;
    readonly key: string;
    readonly call: HttpRequest;
    readonly body: Buffer | undefined;
  },
  answer: (keep: (tx: Tx, response: HttpResponse) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const { caller, key, call: request } = use;
  const id = hash([caller.credential, key]);
  const fingerprint = hash([request.method, `${request.path}?${request.query}`, use.body ?? ""]);
  const keptIn = async (reader: Reader) => {
    const kept = await reader.get(idempotency, id);
    return kept && parseIso(kept.expires_at) > clock.now() ? kept : undefined;
  };
  const isFirst = !inProgress.has(id);
  inProgress.add(id);
  try {
    const kept = await keptIn(store);
    if (kept) {
      const { status, headers, body } = kept;
      return kept.fingerprint === fingerprint
        ? { status, headers: { ...headers, "idempotency-replayed": "true" }, body }
        : fail({ code: "idempotency_key_reused", errors: KEY_REUSED });
    }
    if (!isFirst) return IN_PROGRESS;
    return await answer(async (tx, { status, headers, body }) => {
      const expires_at = toIso(clock.now() + KEEP_MS);
      await tx.put(idempotency, {
        id,
        fingerprint,
        status,
        headers,
        body,
        expires_at,
        partition: "idempotency",
      });
    });
  } finally {
    if (isFirst) inProgress.delete(id);
  }
}

function hash(deps: readonly (string | Buffer)[]): string {
  const digest = createHash("sha256");
  for (const part of deps) digest.update(`${part.length}:`).update(part);
  return digest.digest("base64url");
}
