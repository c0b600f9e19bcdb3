// A service under Vitest's faked timers.
import { startReceiver, startService } from "app-hosting-service";
import { afterEach, test, vi } from "vitest";
import scenario from "./scenario.cjs";

const realDate = Date;
afterEach(() => vi.useRealTimers());

test.each([true, false])(
  "timers faked before the start: %s",
  async (before) => {
    const fake = () => vi.useFakeTimers();
    await scenario.useEverything({ startService, startReceiver, fake, before, realDate });
    vi.useRealTimers();
    await scenario.runAlone({ startService, startReceiver, realDate });
  },
  40_000,
);
