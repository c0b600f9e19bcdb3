// A service under faked timers (contract, part 10), enabled before or after its start. Everything is faked except
// nextTick and queueMicrotask, which node:http needs itself. test/clients runs the stock test runners.
import { createRequire, syncBuiltinESMExports } from "node:module";
import { mock, test } from "node:test";
import { startReceiver, startService } from "../../src/index.ts";

const require = createRequire(import.meta.url);
const { useEverything } = require("../support/faked-timers.cjs");
const realDate = Date;

/** Replaces every timer and clock with one that never advances; returns a function that restores them. */
function fakeAll(): () => void {
  const timers = require("node:timers");
  const promises = require("node:timers/promises");
  const never = Object.assign(() => new Promise(() => {}), {
    ref: () => never,
    unref: () => never,
  });
  const startNever = () => never;
  class FakedDate extends Date {
    static override now = () => 0;
    static override parse = () => 0;
  }
  const fakes: [object: object, name: string, fake: unknown][] = [
    [globalThis, "Date", FakedDate],
    [globalThis, "performance", { now: () => 0, markResourceTiming: () => undefined }],
    [Object.getPrototypeOf(performance), "now", () => 0],
    [AbortSignal, "timeout", () => new AbortController().signal],
    [process, "hrtime", Object.assign(() => [0, 0], { bigint: () => 0n })],
  ];
  for (const kind of ["Timeout", "Interval", "Immediate"]) {
    for (const object of [globalThis, timers])
      fakes.push([object, `set${kind}`, startNever], [object, `clear${kind}`, startNever]);
    fakes.push([promises, `set${kind}`, never]);
  }
  const real = fakes.map(([object, name]) => Object.getOwnPropertyDescriptor(object, name));
  for (const [object, name, value] of fakes)
    Object.defineProperty(object, name, { value, configurable: true, writable: true });
  syncBuiltinESMExports();
  return () => {
    for (const [index, [object, name]] of fakes.entries())
      Object.defineProperty(object, name, real[index] ?? {});
    syncBuiltinESMExports();
  };
}

function fakeWithNode(): () => void {
  mock.timers.enable();
  return () => mock.timers.reset();
}

for (const enableFakes of [fakeAll, fakeWithNode])
  for (const before of [true, false])
    test(`faked timers: ${enableFakes.name} ${before ? "before" : "after"} the start changes nothing`, {
      timeout: 60_000,
    }, async () => {
      let restore = () => {};
      const fake = () => {
        restore = enableFakes();
      };
      try {
        await useEverything({ startService, startReceiver, fake, before, realDate });
      } finally {
        restore();
      }
    });
