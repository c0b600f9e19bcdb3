// Runs one measurement in its own process and prints its figures by unit as JSON on stdout. The arguments are the file,
// the function and its arguments.
import type { Figures } from "./figures.ts";

type Measurements = Readonly<Record<string, (...given: readonly string[]) => Promise<Figures>>>;

const [file = "", name = "", ...given] = process.argv.slice(2);
const measurements: Measurements = await import(`./${file}.ts`);
console.log(JSON.stringify(await measurements[name]?.(...given)));
process.exit();
