// Ids and secrets: their format, and their order whatever the clock does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/lib/ids.ts";

const START = Date.UTC(2026, 0, 1);
const COUNT_MAX = 62 ** 3;

function made(random = systemRandom) {
  const clock = new AdjustableClock(START);
  const ids = new TimeOrderedIds(clock, random);
  return {
    clock,
    ids,
    some: (number: number) => Array.from({ length: number }, () => ids.next("app_")),
  };
}

test("ids: an id is the prefix and 23 letters and digits, of which the last eleven are random", () => {
  const all = made().some(2_000);
  for (const id of all) assert.match(id, /^app_[0-9A-Za-z]{23}$/);
  for (let place = -11; place < 0; place += 1)
    assert.equal(new Set(all.map((id) => id.at(place))).size, 62, `place ${place}`);
});

test("ids: later ids compare greater, even while the clock stands still or is set back", () => {
  const { clock, ids, some } = made(Buffer.alloc);
  // More ids at one time than its counter can hold, so the time advances by itself.
  const all = some(COUNT_MAX + 10);
  clock.set(START - 3_600_000);
  all.push(...some(100));
  clock.set(START + 2);
  all.push(...some(10));
  ids.reseed(systemRandom);
  all.push(...some(10));
  clock.set(START + 4);
  all.push(...some(10));
  for (const [at, id] of all.entries())
    if (at > 0) assert.ok((all[at - 1] ?? "") < id, `${all[at - 1]} before ${id}`);
});

test("ids: new ids follow a stored id of a later or the same millisecond, but ignore ids that a seed chose", () => {
  const [last = ""] = made().some(5).slice(-1);
  const { clock, ids, some } = made(Buffer.alloc);
  for (const chosen of ["app_zzzzzzzzzzzzzzzzzzzzzzz", "app_1", ""]) ids.resumeAfter(chosen);
  assert.ok((some(1)[0] ?? "") < last);
  ids.resumeAfter(last);
  clock.set(START - 3_600_000);
  assert.ok((some(1)[0] ?? "") > last);
});

test("ids: before 1970 ids have the same length and order", () => {
  const { clock, some } = made();
  clock.set(-2_000);
  const all = some(3);
  clock.set(1_000);
  all.push(...some(1));
  for (const id of all) assert.match(id, /^app_[0-9A-Za-z]{23}$/);
  assert.deepEqual([...all].sort(), all);
});

/** Computed from the bytes below: openssl base64 -A | tr -d +/=; the first six are `++++////` there. */
test("ids: a secret is 43 letters and digits from at least 256 random bits; other characters are skipped", () => {
  const drawn = (bytes: number) =>
    Buffer.from(
      Array.from({ length: bytes }, (_, at) => [0xfb, 0xef, 0xbe, 0xff, 0xff, 0xff][at] ?? at - 6),
    );
  const { ids } = made(drawn);
  assert.equal(ids.secret(), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8");
  assert.match(ids.secret(), /^gISIjJCUmJygpKiss/);
});
