#!/usr/bin/env node
// The command's entry point. It has to run on any version of Node, so it loads cli.ts only on a supported one. An older
// version prints one line instead of a stack trace.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major * 100 + minor >= 2019) {
  import("./cli.ts").then(({ main }) => main(process.argv.slice(2)));
} else {
  process.stderr.write(
    `app-hosting-service needs Node.js 20.19 or newer; this is ${process.versions.node}.\n`,
  );
  process.exitCode = 1;
}
