// One measurement in a process of its own, told on standard output as figures by unit: which file of these has it, its name
// there, and what it is given.

const [file = "", name = "", ...given] = process.argv.slice(2);
const { [name]: measured } = await import(`./${file}.ts`);
console.log(JSON.stringify(await measured(...given)));
process.exit();
