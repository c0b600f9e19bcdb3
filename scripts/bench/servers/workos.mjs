// The emulator in the command line of WorkOS, as its tests start it.
import { createEmulator } from "workos/emulate";

const { BENCH_KEYS, BENCH_PORT } = process.env;
const apiKeys = Object.fromEntries(BENCH_KEYS.split(" ").map((key) => [key, { environment: "test" }]));
await createEmulator({ port: Number(BENCH_PORT), seed: { apiKeys } });
