// What a form that makes something was answered: pressed twice or loaded again, it makes one thing, and whoever pressed it
// still sees what is shown once. Kept for a while, for the browser that sent it, and in memory only.
import { sha256 } from "../../domain/access.ts";
import type { Reply } from "../../http/call.ts";
import type { Clock, Instant } from "../../kit/clock.ts";

const KEPT_MS = 15 * 60_000;
const KEPT_MAX = 1_000;

interface Kept {
  readonly until: Instant;
  readonly reply: Promise<Reply>;
}

export class Answered {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The answer to what these words are: the one given before, or what `answer` says now. */
  async once(words: readonly string[], answer: () => Promise<Reply>): Promise<Reply> {
    const now = this.#clock.now();
    const key = sha256(JSON.stringify(words));
    for (const [each, { until }] of this.#kept) if (until <= now || this.#kept.size > KEPT_MAX) this.#kept.delete(each);
    const before = this.#kept.get(key);
    if (before) return before.reply;
    const reply = answer();
    this.#kept.set(key, { until: now + KEPT_MS, reply });
    const isMade = await reply.then(
      ({ status }) => status < 400,
      () => false,
    );
    if (!isMade) this.#kept.delete(key);
    return reply;
  }
}
