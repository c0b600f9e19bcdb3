// Ids, secrets and their hashes. An id is a prefix and 23 characters of [0-9A-Za-z]. Nine characters of time and three
// of count make ids compare as text in creation order. Eleven random ones (65 bits) prevent guessing.
import { createCipheriv, hash, randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

/** In ASCII order, which the text comparison requires. */
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const TIME_LENGTH = 9;
const COUNT_LENGTH = 3;
const COUNT_MAX = 62 ** COUNT_LENGTH;
export const RANDOM_LENGTH = 11;
/** Slightly more than 256 bits. */
const SECRET_LENGTH = 43;
/** Captures the time of an id generated here before the year 8888; most ids of a seed and hashes look different. */
const GENERATED_ID = /^[a-z]+_(0[^_]{8})\w{14}$/;

/** The id generator without the methods that reposition it. */
export type Ids = Pick<TimeOrderedIds, "next" | "secret">;

/** Returns `bytes` random bytes. */
type RandomSource = (bytes: number) => Buffer;

/** A multiple of 3, so that base64 needs no padding. */
const POOL_BYTES = 1_536;

export const systemRandom: RandomSource = randomBytes;

/** Returns the same bytes for the same seed: the key stream of AES-256-CTR. For tests on loopback only. */
export function seededRandom(seed: string): RandomSource {
  const key = hash("sha256", seed, "buffer");
  const stream = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  return (bytes) => stream.update(Buffer.alloc(bytes));
}

export class TimeOrderedIds {
  /** Never runs backwards, so that setting the clock back does not break the order. */
  #time = 0;
  #timeText = "";
  /** The first id starts a new time. */
  #count = COUNT_MAX;
  /** Random characters for the next ids, because a call of the system for each one costs 3 of 27 µs of a GET. */
  #pool = "";

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
    this.#pool = "";
  }

  /** Continues after an existing id, from a later time or another process. */
  resumeAfter(id: string): void {
    const [, digits = ""] = GENERATED_ID.exec(id) ?? [];
    const time = [...digits].reduce((value, digit) => value * 62 + ALPHABET.indexOf(digit), 0);
    if (time < this.#time) return;
    this.#time = time;
    this.#count = COUNT_MAX;
  }

  /** Returns a new id such as `app_0UZ…`; later ids compare greater. */
  next(prefix: string): string {
    const now = this.clock.now();
    this.#count += 1;
    if (now > this.#time || this.#count >= COUNT_MAX) {
      this.#time = Math.max(now, this.#time + 1);
      this.#count = 0;
      this.#timeText = toBase62(this.#time, TIME_LENGTH);
    }
    return (
      prefix +
      this.#timeText +
      toBase62(this.#count, COUNT_LENGTH) +
      this.#randomText(RANDOM_LENGTH)
    );
  }

  /** Returns 256 random bits as letters and digits, for API keys, codes, refresh tokens and secrets. */
  secret(): string {
    return this.#randomText(SECRET_LENGTH);
  }

  #randomText(length: number): string {
    // All 62 characters are equally likely, because the other two of base64 are dropped.
    while (this.#pool.length < length)
      this.#pool += this.random(POOL_BYTES).toString("base64").replace(/[+/]/g, "");
    const text = this.#pool.slice(0, length);
    this.#pool = this.#pool.slice(length);
    return text;
  }
}

const toBase62 = (value: number, length: number): string =>
  length === 0 ? "" : toBase62(Math.floor(value / 62), length - 1) + ALPHABET[value % 62];

/** The form in which API keys and session secrets are stored. */
export const sha256 = (text: string): string => hash("sha256", text, "hex");

/** The form of OAuth secrets, of PKCE's S256 (RFC 7636 4.2) and of a key's thumbprint (RFC 7638). */
export const sha256Base64url = (text: string): string => hash("sha256", text, "base64url");
