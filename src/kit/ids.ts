// Identifiers and secrets. An id is a prefix and 23 characters of [0-9A-Za-z] (contract, part 2): nine of time and three
// of count, so that ids compare as text in creation order, and eleven random ones (65 bits), so that none can be guessed.
// The alphabet is in ASCII order, which is what makes the text comparison hold.
import { createCipheriv, createHash, randomFillSync } from "node:crypto";
import type { Clock, Instant } from "./clock.ts";
import { decide } from "./decisions.ts";

const {
  alphabet: ALPHABET,
  time_length: TIME_LENGTH,
  count_length: COUNT_LENGTH,
  random_length: RANDOM_LENGTH,
} = decide(
  "2.ids",
  {
    alphabet: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    time_length: 9,
    count_length: 3,
    random_length: 11,
  },
  {
    open: "what follows the prefix of an id",
    why: "time and count first, so that ids compare as text in the order of creation; then 65 random bits, so that nobody guesses one",
  },
);
const COUNT_MAX = 62 ** COUNT_LENGTH;
const POOL_BYTES = 4096;

export interface Ids {
  /** A new id such as `app_0UZ…`; later ones compare greater. */
  next(prefix: string): string;
  /** `bytes` random bytes as base64url: for API keys, codes, refresh tokens, secrets. */
  secret(bytes: number): string;
  /** A random number in [0, 1): for jitter, never for secrets. */
  fraction(): number;
}

export interface IdMark {
  readonly time: Instant;
  readonly count: number;
}

/** Fills the buffer with random bytes. */
export type RandomSource = (buffer: Buffer) => void;

export const systemRandom: RandomSource = (buffer) => randomFillSync(buffer);

/** The same bytes in the same order for the same text: the key stream of AES-256-CTR. For tests on loopback only. */
export function seededRandom(seed: string): RandomSource {
  const stream = createCipheriv("aes-256-ctr", createHash("sha256").update(seed).digest(), Buffer.alloc(16));
  return (buffer) => stream.update(Buffer.alloc(buffer.length)).copy(buffer);
}

export class TimeOrderedIds implements Ids {
  readonly #clock: Clock;
  #random: RandomSource;
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #used = POOL_BYTES;
  #time = 0;
  #timeText = "";
  #count = 0;

  constructor(clock: Clock, random: RandomSource) {
    this.#clock = clock;
    this.#random = random;
  }

  /** How far the ids have come. */
  mark(): IdMark {
    return { time: this.#time, count: this.#count };
  }

  /** Goes on from `mark` with this randomness: at the same time the same ids come again. For repeatable tests only. */
  restart({ time, count }: IdMark, random: RandomSource): void {
    this.#time = time;
    this.#timeText = base62(time, TIME_LENGTH);
    this.#count = count;
    this.#random = random;
    this.#used = POOL_BYTES;
  }

  next(prefix: string): string {
    this.#tick();
    let tail = "";
    while (tail.length < RANDOM_LENGTH) tail += ALPHABET[this.#byte() & 63] ?? "";
    return `${prefix}${this.#timeText}${base62(this.#count, COUNT_LENGTH)}${tail}`;
  }

  secret(bytes: number): string {
    const buffer = Buffer.alloc(bytes);
    for (let at = 0; at < bytes; at += 1) buffer[at] = this.#byte();
    return buffer.toString("base64url");
  }

  fraction(): number {
    return ((this.#byte() << 16) | (this.#byte() << 8) | this.#byte()) / 2 ** 24;
  }

  /** Time never runs backwards here, so that a clock set back does not break the order. */
  #tick(): void {
    const now = this.#clock.now();
    this.#count += 1;
    if (now <= this.#time && this.#count < COUNT_MAX) return;
    this.#time = Math.max(now, this.#time + 1);
    this.#timeText = base62(this.#time, TIME_LENGTH);
    this.#count = 0;
  }

  #byte(): number {
    if (this.#used === POOL_BYTES) {
      this.#random(this.#pool);
      this.#used = 0;
    }
    const byte = this.#pool[this.#used] ?? 0;
    this.#pool[this.#used] = 0;
    this.#used += 1;
    return byte;
  }
}

function base62(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = (ALPHABET[rest % 62] ?? "") + text;
  return text;
}
