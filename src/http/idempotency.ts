// Idempotency-Key on a POST (contract, part 4): the first answer is written in the very transaction of the change, so a
// crash leaves both or neither, and comes again for the same request within 24 hours. A refusal changed nothing: it is not
// kept and is judged anew. What is shown once is null in what is kept.
import { createHash } from "node:crypto";
import { decide } from "../decisions.ts";
import type { Caller } from "../domain/access.ts";
import { idempotency } from "../domain/model.ts";
import { type FieldError, refuse } from "../domain/refusal.ts";
import type { Reader, Tx } from "../domain/store.ts";
import type { UnitParts } from "../domain/work.ts";
import { instant, iso } from "../kit/clock.ts";
import type { Call, Reply } from "./call.ts";
import type { Answer } from "./way.ts";

const { keep_h, key_max } = decide("4.idempotency");
const KEEP_MS = keep_h * 3_600_000;
export const KEY_MAX = key_max;

/** Longer than any request may take; a crashed holder must not block the key for good. */
const LEASE_MS = 60_000;

const IN_PROGRESS = refuse({ code: "idempotency_in_progress" });
const REUSED: readonly FieldError[] = [
  { header: "Idempotency-Key", detail: "was used for another request; use a new key for a new one" },
];

/** The key of a POST, or undefined; a malformed one is added to the faults. */
export function idempotencyKey(call: Call, faults: FieldError[]): string | undefined {
  if (call.method !== "POST") return undefined;
  const values = call.values("idempotency-key");
  const [key] = values;
  if (key === undefined) return undefined;
  if (values.length > 1 || key.length < 1 || key.length > KEY_MAX)
    faults.push({ header: "Idempotency-Key", detail: `must be sent once, with 1 to ${KEY_MAX} characters` });
  return key;
}

/**
 * What was answered before, or what is answered now by whoever is the first with the key, and holds its lease meanwhile.
 * `use`: the holder of the key, the key and the request that it came with; `keep` keeps it, in the transaction of the change.
 */
export async function once(
  { store, clock }: UnitParts,
  use: { readonly caller: Caller; readonly key: string; readonly call: Call; readonly body: Buffer | undefined },
  answer: (keep: (tx: Tx, reply: Reply) => Promise<void>) => Promise<Answer>,
): Promise<Answer> {
  const { caller, key, call } = use;
  const id = hash([caller.credential, key]);
  const fingerprint = hash([call.method, `${call.path}?${call.query}`, use.body ?? ""]);
  const keptIn = async (reader: Reader) => {
    const kept = await reader.get(idempotency, id);
    return kept && instant(kept.expires_at) > clock.now() ? kept : undefined;
  };
  const lease = await store.lease(`idempotency ${id}`, LEASE_MS);
  try {
    const kept = await keptIn(store);
    if (kept) {
      const { status, headers, body } = kept;
      return kept.fingerprint === fingerprint
        ? { status, headers: { ...headers, "idempotency-replayed": "true" }, body }
        : refuse({ code: "idempotency_key_reused", errors: REUSED });
    }
    if (lease === undefined) return IN_PROGRESS;
    return await answer(async (tx, { status, headers, body }) => {
      // The lease may have been lost meanwhile, and somebody else have answered.
      if (await keptIn(tx)) throw IN_PROGRESS;
      const expires_at = iso(clock.now() + KEEP_MS);
      await tx.put(idempotency, { id, fingerprint, status, headers, body, expires_at, all: "idempotency" });
    });
  } finally {
    await lease?.release();
  }
}

function hash(parts: readonly (string | Buffer)[]): string {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(`${part.length}:`).update(part);
  return digest.digest("base64url");
}
