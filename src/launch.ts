// From options to a service that stands: the settings are read, the store is opened, and what fails on the way leaves
// nothing behind - no port, no lock of a file.
import { collections } from "./domain/collections.ts";
import type { Store } from "./domain/store.ts";
import { clockFor, type ServiceOptions } from "./embedding/options.ts";
import type { AdjustableClock } from "./kit/clock.ts";
import { type Console, type Log, logTo } from "./kit/log.ts";
import { OptionError, readSettings, type Settings } from "./options.ts";
import { Service } from "./service.ts";
import { memoryStore } from "./store/memory.ts";

/** Whose streams these are is the business of whoever embeds the service. */
const streams: Console = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
};

/** Starts the service; resolves when it listens and everything in it is ready to use. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const clock = clockFor(options);
  const settings = readSettings({ port: 0, log: "off", ...options, seed: undefined }, (name) => name);
  if (options.store !== undefined && settings.data !== null)
    throw new OptionError("store and data cannot be given together: each says where everything is kept");
  return run(settings, clock, streams, options, true);
}

/**
 * The same for a process of its own, whose settings were read from flags. `watched`: somebody may look in and disturb.
 * `onOpening` is told before the first request can be answered.
 */
export async function run(
  settings: Settings,
  clock: AdjustableClock,
  terminal: Console,
  { seed, store: given }: Pick<ServiceOptions, "seed" | "store">,
  watched: boolean,
  onOpening: (opening: Promise<Service>) => void = () => {},
): Promise<Service> {
  const asked = logTo(settings.log, clock, terminal);
  // Without a log a process still has a console, and a sign-in link that was asked for is shown nowhere else.
  const log = settings.log === "off" && !watched ? { ...asked, announce: terminal.out } : asked;
  const store = given ?? (await storeOf(settings, log));
  const service = new Service({ settings, clock, store, log, watched }, seed ?? settings.seed); // refuses wrong files
  await store.open(collections);
  const opening = opened(service);
  onOpening(opening);
  return opening;
}

async function opened(service: Service): Promise<Service> {
  try {
    await service.open();
    return service;
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** The file store is loaded only where it is used: a start in memory need not wait for it. */
async function storeOf({ data }: Settings, log: Log): Promise<Store> {
  if (data === null) return memoryStore();
  const { jsonFileStore } = await import("./store/json-file.ts");
  return jsonFileStore(data, { warn: (line) => log.warn(line) });
}
