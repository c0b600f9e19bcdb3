// The memory store against the contract of the store port.
import { test } from "node:test";
import { storeContract } from "../../src/store/contract.ts";
import { memoryStore } from "../../src/store/memory.ts";

storeContract(test, memoryStore);
