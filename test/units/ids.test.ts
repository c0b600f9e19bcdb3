// Ids and secrets: their format, and their order whatever the clock does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/lib/ids.ts";

const START = Date.UTC(2026, 0, 1);
const COUNT_MAX = 62 ** 3;

function createIds(random = systemRandom) {
  const clock = new AdjustableClock(START);
  const ids = new TimeOrderedIds(clock, random);
  const take = (count: number) => Array.from({ length: count }, () => ids.next("app_"));
  return { clock, ids, take };
}

const assertSorted = (all: readonly string[]) => {
  for (const [index, id] of all.entries()) assert.ok((all[index - 1] ?? "") < id, id);
};

test("ids: an id is the prefix and 23 letters and digits, of which the last eleven are random", () => {
  const all = createIds().take(2_000);
  for (const id of all) assert.match(id, /^app_[0-9A-Za-z]{23}$/);
  for (let place = -11; place < 0; place += 1)
    assert.equal(new Set(all.map((id) => id.at(place))).size, 62, `place ${place}`);
});

test("ids: later ids compare greater, even while the clock stands still or is set back", () => {
  const { clock, ids, take } = createIds(Buffer.alloc);
  // More ids at one time than its counter can hold, so the time advances by itself.
  const all = take(COUNT_MAX + 10);
  for (const at of [START - 3_600_000, START + 2]) {
    clock.set(at);
    all.push(...take(100));
  }
  ids.reseed(systemRandom);
  all.push(...take(10));
  clock.set(START + 4);
  assertSorted([...all, ...take(10)]);
});

test("ids: new ids follow a stored id of a later or the same millisecond, but ignore ids that a seed chose, and hashes", () => {
  const [last = ""] = createIds().take(5).slice(-1);
  const { clock, ids, take } = createIds(Buffer.alloc);
  const hash = "lPNRZzNRs3vfLVdqJ50_0zzzzzzzzzzzzzzzzzzzzzz";
  for (const other of ["app_zzzzzzzzzzzzzzzzzzzzzzz", "app_1", hash, ""]) ids.resumeAfter(other);
  assertSorted([...take(1), last]);
  ids.resumeAfter(last);
  clock.set(START - 3_600_000);
  assertSorted([last, ...take(1)]);
});
