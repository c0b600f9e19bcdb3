#!/usr/bin/env node
// The entry of the command. It is so small because it must run on any Node: on one that is too old, what main.ts needs
// could not even be loaded, and its user should read one line instead of a stack.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major > 20 || (major === 20 && minor >= 19)) {
  const { main } = await import("./main.ts");
  await main(process.argv.slice(2));
} else {
  process.stderr.write(`app-hosting-service needs Node.js 20.19 or newer; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
}
