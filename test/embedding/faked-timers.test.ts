// A service under faked timers (contract, part 10), enabled before or after its start. Everything is faked except
// nextTick and queueMicrotask, which node:http needs itself. test/clients runs the stock test runners.
import { createRequire, syncBuiltinESMExports } from "node:module";
import { mock, test } from "node:test";
import { startReceiver, startService } from "../../src/index.ts";

const require = createRequire(import.meta.url);
const { useEverything, runAlone } = require("../support/faked-timers.cjs");
const realDate = Date;

/** Replaces every timer and clock with one that never advances; returns a function that restores them. */
function fakeAll(): () => void {
  const timers = require("node:timers");
  const promises = require("node:timers/promises");
  const never = Object.assign(() => new Promise(() => {}), {
    ref: () => never,
    unref: () => never,
  });
  const start = () => never;
  class FakedDate extends Date {
    constructor(...given: [] | [number | string]) {
      super(given[0] ?? 0);
    }
    static override now = () => 0;
    static override parse = () => 0;
    static override UTC = () => 0;
  }
  const names = [
    "setTimeout",
    "setInterval",
    "setImmediate",
    "clearTimeout",
    "clearInterval",
    "clearImmediate",
  ];
  const fakes: [object: object, name: string, fake: unknown][] = [
    ...names.flatMap((name): typeof fakes => [
      [globalThis, name, start],
      [timers, name, start],
    ]),
    ...["setTimeout", "setInterval", "setImmediate"].map((name): (typeof fakes)[0] => [
      promises,
      name,
      never,
    ]),
    [globalThis, "Date", FakedDate],
    [globalThis, "performance", { now: () => 0, markResourceTiming: () => undefined }],
    [Object.getPrototypeOf(performance), "now", () => 0],
    [AbortSignal, "timeout", () => new AbortController().signal],
    [process, "hrtime", Object.assign(() => [0, 0], { bigint: () => 0n })],
  ];
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

/** Each returns a function that restores the timers. */
const FAKES: Readonly<Record<string, () => () => void>> = {
  "every timer and clock replaced": fakeAll,
  "mock.timers of node:test": () => {
    mock.timers.enable();
    return () => mock.timers.reset();
  },
};

for (const [name, start] of Object.entries(FAKES))
  for (const before of [true, false])
    test(`faked timers: ${name} ${before ? "before" : "after"} the start change nothing`, {
      timeout: 60_000,
    }, async () => {
      let end = () => {};
      const fake = () => {
        end = start();
      };
      try {
        await useEverything({ startService, startReceiver, fake, before, realDate });
      } finally {
        end();
      }
      await runAlone({ startService, startReceiver, realDate });
    });
