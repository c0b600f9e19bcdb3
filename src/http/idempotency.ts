// Idempotency-Key on a POST (contract, part 4): the first answer is written in the very transaction of the change, so a
// crash leaves both or neither, and comes again for the same request within 24 hours. A refusal changed nothing: it is not
// kept and is judged anew. What is shown once is null in what is kept.
import { createHash } from "node:crypto";
import { decide } from "../decisions.ts";
import type { Caller } from "../domain/access.ts";
import { idempotency } from "../domain/model.ts";
import { type FieldError, type Refusal, refuse } from "../domain/refusal.ts";
import type { Lease, Store, Tx } from "../domain/store.ts";
import { type Clock, instant, iso } from "../kit/clock.ts";
import type { Call, Reply } from "./call.ts";

const { keep_h, key_max } = decide("4.idempotency");
const KEEP_MS = keep_h * 3_600_000;
export const KEY_MAX = key_max;

/** Longer than any request may take; a crashed holder must not block the key for good. */
const LEASE_MS = 60_000;

const REUSED: readonly FieldError[] = [{ header: "Idempotency-Key", detail: "was used for another request" }];

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

/** One use of a key: what was answered before, or the right to be the first. */
export class Once {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #id: string;
  readonly #fingerprint: string;
  #lease: Lease | undefined;

  constructor(parts: { store: Store; clock: Clock }, caller: Caller, key: string, call: Call, body: Buffer) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#id = hash([caller.credential, key]);
    this.#fingerprint = hash([call.method, `${call.path}?${call.query}`, body]);
  }

  /** The kept answer or a refusal; undefined where this request is the first, which then holds the key's lease. */
  async begin(): Promise<Reply | Refusal | undefined> {
    this.#lease = await this.#store.lease(`idempotency ${this.#id}`, LEASE_MS);
    if (this.#lease === undefined) return refuse({ code: "idempotency_in_progress" });
    const now = this.#clock.now();
    const kept = await this.#store.get(idempotency, this.#id);
    if (kept === undefined || instant(kept.expires_at) <= now) return undefined;
    await this.end();
    if (kept.fingerprint !== this.#fingerprint) return refuse({ code: "idempotency_key_reused", errors: REUSED });
    return { status: kept.status, headers: { ...kept.headers, "idempotency-replayed": "true" }, body: kept.body };
  }

  async end(): Promise<void> {
    await this.#lease?.release();
  }

  /** Keeps the answer; within the transaction of the change, so that both are kept or neither. */
  write(tx: Tx, reply: Reply): Promise<void> {
    const headers = Object.entries(reply.headers).map(([name, value]) => [name, String(value)]);
    return tx.put(idempotency, {
      id: this.#id,
      fingerprint: this.#fingerprint,
      status: reply.status,
      headers: Object.fromEntries(headers),
      body: reply.body.toString(),
      expires_at: iso(this.#clock.now() + KEEP_MS),
      all: "idempotency",
    });
  }
}

function hash(parts: readonly (string | Buffer)[]): string {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(`${part.length}:`).update(part);
  return digest.digest("base64url");
}
