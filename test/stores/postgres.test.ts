// The PostgreSQL store against the contract of the store port, on a database of its own, and what only several sessions can
// show.
import { storeContract } from "../../src/store/contract.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { database, onDatabase } from "../support/postgres.ts";

storeContract(
  (title, run) => onDatabase(title, run),
  () => postgresStore(database().address()),
);
