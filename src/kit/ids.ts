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
/** Where the parts of an id stand in the buffer that it is written in; prefixes end where the time begins. */
const TIME_AT = 16;
const COUNT_AT = TIME_AT + TIME_LENGTH;
const RANDOM_AT = COUNT_AT + COUNT_LENGTH;
const END = RANDOM_AT + RANDOM_LENGTH;
const CODES = Buffer.from(ALPHABET);

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
  /** An id is made in one piece: as a sum of texts it would be put together anew when it is first looked up. */
  readonly #text = Buffer.alloc(END);
  #time = 0;
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
    write62(this.#text, time, TIME_AT, TIME_LENGTH);
    this.#count = count;
    this.#random = random;
    this.#used = POOL_BYTES;
  }

  next(prefix: string): string {
    this.#tick();
    const text = this.#text;
    const start = TIME_AT - prefix.length;
    for (let at = 0; at < prefix.length; at += 1) text[start + at] = prefix.charCodeAt(at);
    write62(text, this.#count, COUNT_AT, COUNT_LENGTH);
    for (let at = RANDOM_AT; at < END; ) {
      const code = CODES[this.#byte() & 63];
      if (code !== undefined) text[at++] = code;
    }
    return text.toString("latin1", start, END);
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
    write62(this.#text, this.#time, TIME_AT, TIME_LENGTH);
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

function write62(into: Buffer, value: number, at: number, length: number): void {
  let rest = value;
  for (let place = at + length - 1; place >= at; place -= 1) {
    into[place] = CODES[rest % 62] ?? 0;
    rest = Math.floor(rest / 62);
  }
}
