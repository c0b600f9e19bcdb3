// Ids and secrets. An id is a prefix and 23 characters of [0-9A-Za-z] (contract, part 2). Nine characters of time and
// three of count make ids compare as text in creation order. Eleven random ones (65 bits) prevent guessing. The
// alphabet is in ASCII order, which the text comparison requires.
import { createCipheriv, createHash, randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const TIME_LENGTH = 9;
const COUNT_LENGTH = 3;
export const RANDOM_LENGTH = 11;
const COUNT_MAX = 62 ** COUNT_LENGTH;
/** Slightly more than 256 bits. */
const SECRET_LENGTH = 43;
/** Enough for 180 ids, because each draw is a system call. A multiple of three needs no base64 padding. */
const DRAWN_BYTES = 3 * 512;
/** Captures the time of an id generated here before the year 8888; ids of a seed may look different. */
const MADE_HERE = /_(0[\dA-Za-z]{8})[\dA-Za-z]{14}$/;

/** The id generator without the methods that reposition it. */
export type Ids = Pick<TimeOrderedIds, "next" | "secret">;

/** Returns `bytes` random bytes. */
type RandomSource = (bytes: number) => Buffer;

export const systemRandom: RandomSource = randomBytes;

/** Returns the same bytes for the same seed: the key stream of AES-256-CTR. For tests on loopback only. */
export function seededRandom(seed: string): RandomSource {
  const stream = createCipheriv(
    "aes-256-ctr",
    createHash("sha256").update(seed).digest(),
    Buffer.alloc(16),
  );
  return (bytes) => stream.update(Buffer.alloc(bytes));
}

export class TimeOrderedIds {
  #time = 0;
  /** Time and count without the last character, cached because a busy server makes many ids in a millisecond. */
  #stamp = inBase62(0, TIME_LENGTH + COUNT_LENGTH - 1);
  #count = 0;
  /** Unused random characters. */
  #drawn = "";

  constructor(
    private readonly clock: Clock,
    private random: RandomSource,
  ) {}

  /**
   * Restarts with this random source, after all ids of this millisecond: the same time then gives the same ids. For
   * repeatable tests only.
   */
  reseed(random: RandomSource): void {
    this.#time = this.clock.now();
    this.#count = COUNT_MAX;
    this.random = random;
    this.#drawn = "";
  }

  /** Continues after an existing id, from another process or a later time. */
  resumeAfter(id: string): void {
    const [, digits = ""] = MADE_HERE.exec(id) ?? [];
    const time = [...digits].reduce((value, digit) => value * 62 + ALPHABET.indexOf(digit), 0);
    if (time < this.#time) return;
    this.#time = time;
    this.#count = COUNT_MAX;
  }

  /** Returns a new id such as `app_0UZ…`; later ids compare greater. */
  next(prefix: string): string {
    this.#tick();
    return prefix + this.#stamp + ALPHABET[this.#count % 62] + this.#characters(RANDOM_LENGTH);
  }

  /** Returns 256 random bits as letters and digits, for API keys, codes, refresh tokens and secrets. */
  secret(): string {
    return this.#characters(SECRET_LENGTH);
  }

  #characters(length: number): string {
    // Dropping two of base64's 64 characters keeps the others equally likely.
    while (this.#drawn.length < length)
      this.#drawn += this.random(DRAWN_BYTES).toString("base64").replace(/[+/=]/g, "");
    const taken = this.#drawn.slice(0, length);
    this.#drawn = this.#drawn.slice(length);
    return taken;
  }

  /** Time never runs backwards here, so that setting the clock back does not break the order. */
  #tick(): void {
    const now = this.clock.now();
    this.#count += 1;
    if (now > this.#time || this.#count >= COUNT_MAX) {
      this.#time = Math.max(now, this.#time + 1);
      this.#count = 0;
    }
    if (this.#count % 62 > 0) return;
    this.#stamp = inBase62(this.#time, TIME_LENGTH) + inBase62(this.#count / 62, COUNT_LENGTH - 1);
  }
}

function inBase62(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62))
    text = `${ALPHABET[rest % 62]}${text}`;
  return text;
}
