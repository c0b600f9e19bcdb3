// Preload (`--import`) that runs the code with the other reading of the decision named by OTHER_CHOICE: a row of
// the register, or one member of a choice that is an object (`8.bounds/nesting`).
import { DECISIONS, type Decision } from "../../src/former-decisions.ts";

const given = process.env.OTHER_CHOICE ?? "";
const [id = "", member] = given.split("/");
const row: Decision | undefined = new Map<string, Decision>(Object.entries(DECISIONS)).get(id);
if (row === undefined) throw new Error(`OTHER_CHOICE is no row of the register: ${given}`);
const { is, or } = row.choice;
const other = new Map(Object.entries(Object(or)));
Object.assign(row.choice, {
  is: member === undefined ? or : { ...Object(is), [member]: other.get(member) },
});
