// Identifiers and secrets. An id is a prefix and 23 characters of [0-9A-Za-z] (contract, part 2): nine of time and three
// of count, so that ids compare as text in creation order, and eleven random ones (65 bits), so that none can be guessed.
// The alphabet is in ASCII order, which is what makes the text comparison hold.
import { createCipheriv, createHash, randomBytes } from "node:crypto";
import type { Clock } from "./clock.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const TIME_LENGTH = 9;
const COUNT_LENGTH = 3;
export const RANDOM_LENGTH = 11;
const COUNT_MAX = 62 ** COUNT_LENGTH;
/** 256 bits and a little more. */
const SECRET_LENGTH = 43;
/** For 180 ids, since each draw is a call of the system; in threes, of which base64 leaves no rest. */
const DRAWN_BYTES = 3 * 512;
/** Its time, of an id as they are made here before the year 8888; a seed's may look otherwise. */
const MADE_HERE = /_(0[\dA-Za-z]{8})[\dA-Za-z]{14}$/;

/** What makes them, as everything sees it that does not repeat them. */
export type Ids = Pick<TimeOrderedIds, "next" | "secret">;

/** So many random bytes. */
type RandomSource = (bytes: number) => Buffer;

export const systemRandom: RandomSource = randomBytes;

/** The same bytes in the same order for the same text: the key stream of AES-256-CTR. For tests on loopback only. */
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
  /** Time and count as ids have them, without the last character: a busy server makes many in a millisecond. */
  #stamp = inBase62(0, TIME_LENGTH + COUNT_LENGTH - 1);
  #count = 0;
  /** Random characters that were not given yet. */
  #drawn = "";

  constructor(
    private readonly clock: Clock,
    private random: RandomSource,
  ) {}

  /**
   * Begins anew with this randomness, behind all ids of this very millisecond: at the same time the same ids come again.
   * For repeatable tests only.
   */
  reseed(random: RandomSource): void {
    this.#time = this.clock.now();
    this.#count = COUNT_MAX;
    this.random = random;
    this.#drawn = "";
  }

  /** Goes on behind an id that was made before, by another process or when time was later. */
  resumeAfter(id: string): void {
    const [, digits = ""] = MADE_HERE.exec(id) ?? [];
    const time = [...digits].reduce((value, digit) => value * 62 + ALPHABET.indexOf(digit), 0);
    if (time < this.#time) return;
    this.#time = time;
    this.#count = COUNT_MAX;
  }

  /** A new id such as `app_0UZ…`; later ones compare greater. */
  next(prefix: string): string {
    this.#tick();
    return prefix + this.#stamp + ALPHABET[this.#count % 62] + this.#characters(RANDOM_LENGTH);
  }

  /** 256 random bits in letters and digits: for API keys, codes, refresh tokens, secrets. */
  secret(): string {
    return this.#characters(SECRET_LENGTH);
  }

  #characters(length: number): string {
    // Two of the 64 of base64 are passed over, and the others stay equally likely.
    while (this.#drawn.length < length)
      this.#drawn += this.random(DRAWN_BYTES).toString("base64").replace(/[+/=]/g, "");
    const taken = this.#drawn.slice(0, length);
    this.#drawn = this.#drawn.slice(length);
    return taken;
  }

  /** Time never runs backwards here, so that a clock set back does not break the order. */
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
