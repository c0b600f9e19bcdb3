// `npm run store-contract -- MODULE` tests a custom store against the contract of src/domain/store.ts. MODULE is a file
// or an installed package. Its export `store`, or the default one, is a store or a function that creates one. Each case
// starts with a new, empty store.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Store } from "../src/domain/store.ts";
import { storeContract } from "../test/stores/contract.ts";
import { exitWithUsage } from "./arguments.ts";

type CreateStore = () => Store | Promise<Store>;

const USE = "Usage: npm run store-contract -- MODULE";
const [name = "", ...others] = process.argv.slice(2);
if (name === "" || others.length > 0) exitWithUsage("Name one module.", USE);

async function load(query = "") {
  const address = /^[./]/.test(name)
    ? pathToFileURL(resolve(name)).href
    : import.meta.resolve(name);
  const module: { store?: unknown; default?: unknown } = await import(`${address}${query}`);
  return module.store ?? module.default;
}

const exported = await load().catch((error: unknown) =>
  exitWithUsage(`${name} cannot be loaded (${error}).`, USE),
);
let imports = 0;
if (typeof exported === "function") storeContract(exported as CreateStore);
else if (typeof (exported as Partial<Store> | undefined)?.transact === "function")
  // Another query makes another instance of the module, and so another store.
  storeContract(() => load(`?${++imports}`) as Promise<Store>);
else exitWithUsage(`${name} must export a store, or a function that creates one.`, USE);
