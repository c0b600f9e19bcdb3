// The package's public API, for embedding tests. Nothing else is public.
export type {
  AccountRecord as Account,
  AccountState,
  EventEnvelope,
  EventType,
  Scope,
} from "./domain/model.ts";
export type { TokenResponse } from "./domain/oauth/tokens.ts";
export type * from "./domain/store.ts";
export {
  collection,
  isStoreError,
  StorageUnavailable,
  StoreOpenError,
  UniqueViolation,
} from "./domain/store.ts";
export { ALL_VARIANTS, type Variants } from "./http/variants.ts";
export type { FiredTimer } from "./lib/clock.ts";
export { OptionError } from "./lib/schema.ts";
export { verifySignature } from "./lib/signature.ts";
export type { ReceiverAnswer, ServiceOptions } from "./options.ts";
export * from "./receiver.ts";
export { startService } from "./server.ts";
export { jsonFileStore } from "./store/json-file.ts";
export { memoryStore } from "./store/memory.ts";
export type {
  ChaosRuleInput as ChaosRule,
  Effect,
  FaultRuleInput as FaultRule,
  Rules,
} from "./testing/faults.ts";
export type { JournalDelivery, JournalRequest, Trace } from "./testing/recorder.ts";
export type { Service, Settled, SignInOptions } from "./testing/service.ts";
export type { StartupAccount } from "./testing/state.ts";
