// The store skeleton for custom stores passes the contract, and the service runs on it by name.
import { test } from "node:test";
import { storeContract } from "./contract.ts";
// @ts-expect-error: it is plain JavaScript, to be copied
import skeleton from "./skeleton.mjs";

storeContract(test, skeleton);
