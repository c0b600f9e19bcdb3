// The JSON-file store against the contract of the store port.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { storeContract } from "../../src/store/contract.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";

const folder = mkdtempSync(join(tmpdir(), "json-file-store-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

storeContract(test, () => {
  files += 1;
  return jsonFileStore(join(folder, `${files}.json`));
});
