// One measurement in a process of its own, told on standard output as figures by unit: which file of these has it, its name
// there, and what it is given.
import type { Figures } from "./figures.ts";

type Measurements = Readonly<Record<string, (...given: readonly string[]) => Promise<Figures>>>;

const [file = "", name = "", ...given] = process.argv.slice(2);
const measurements: Measurements = await import(`./${file}.ts`);
console.log(JSON.stringify(await measurements[name]?.(...given)));
process.exit();
