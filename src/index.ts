// What an embedding test imports. Nothing else of this package is public.
export type { AccountRecord as Account, AccountState, EventType, Scope } from "./domain/model.ts";
export type { Collection, Reader, Scalar, Span, Store, StoreData, Stored, Tx } from "./domain/store.ts";
export { StorageUnavailable, StoreRefusal, UniqueViolation } from "./domain/store.ts";
export { verifySignature } from "./kit/signature.ts";
export { OptionError } from "./options.ts";
export {
  type ReceivedAttempt,
  type ReceivedEvent,
  type Receiver,
  type ReceiverAnswer,
  type ReceiverOptions,
  startReceiver,
} from "./receiver.ts";
export { type Service, type ServiceOptions, startService } from "./service.ts";
export { storeContract } from "./store/contract.ts";
export { jsonFileStore } from "./store/json-file.ts";
export { memoryStore } from "./store/memory.ts";
