// What an embedding test imports. Nothing else of this package is public.
export type { AccountRecord as Account, AccountState, EventEnvelope, EventType, Scope } from "./domain/model.ts";
export type { TokenAnswer } from "./domain/oauth/tokens.ts";
export { READINGS, type Readings } from "./domain/readings.ts";
export type * from "./domain/store.ts";
export { collection, isStoreError, StorageUnavailable, StoreRefusal, UniqueViolation } from "./domain/store.ts";
export type { Effect, GivenChaos as ChaosRule, GivenFault as FaultRule, Rules } from "./embedding/disturbances.ts";
export type { JournalDelivery, JournalRequest, Trace } from "./embedding/journals.ts";
export type { Service, Settled, SignInOptions } from "./embedding/service.ts";
export type { Entered } from "./embedding/states.ts";
export type { Ran } from "./kit/clock.ts";
export { OptionError } from "./kit/schema.ts";
export { verifySignature } from "./kit/signature.ts";
export { startService } from "./launch.ts";
export type { ServiceOptions } from "./options.ts";
export * from "./receiver.ts";
export { storeContract } from "./store/contract.ts";
export { jsonFileStore } from "./store/json-file.ts";
export { memoryStore } from "./store/memory.ts";
