// Loaded before anything else (`--import`), it has the code run on the other reading of the row that OTHER_CHOICE names.
import { DECISIONS } from "../../src/decisions.ts";

const id = process.env.OTHER_CHOICE;
const [, row] = Object.entries(DECISIONS).find(([each]) => each === id) ?? [];
if (row === undefined) throw new Error(`OTHER_CHOICE is no row of the register: ${id}`);
Object.assign(row.choice, { is: row.choice.or });
