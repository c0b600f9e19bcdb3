// The package as package linters and TypeScript see it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { CLIENTS, clientTest } from "../support/clients.ts";
import { onceInstalled } from "../support/installed-package.ts";

const installed = onceInstalled();

const command = (name: string) => join(CLIENTS, "node_modules", name);

clientTest("are-the-types-wrong and publint find nothing", async () => {
  const { tarball, run } = await installed();
  const attw = await run(
    process.execPath,
    command("@arethetypeswrong/cli/dist/index.js"),
    "--no-color",
    tarball,
  );
  assert.match(attw.stdout, /No problems found/);
  const publint = await run(process.execPath, command("publint/src/cli.js"), "--strict", tarball);
  assert.match(publint.stdout, /All good/);
});

const USE = `
  import { OptionError, memoryStore, ALL_VARIANTS, startReceiver, startService, verifySignature } from "app-hosting-service";
  import type { Service, Store, Trace } from "app-hosting-service";
  export async function use() {
    const service: Service = await startService({ clock: "manual", seed: { accounts: [] } });
    const receiver = await startReceiver({ secret: "s", answers: [500, "hang"] });
    const store: Store = memoryStore();
    const trace: Trace | undefined = service.trace("req_1");
    const ran = await service.clock.advance("5m");
    // @ts-expect-error: there is no such option
    await startService({ prot: 1 });
    // @ts-expect-error: a bare number is no duration
    await startService({ webhookTimeout: 500 });
    // @ts-expect-error: there is no such variant
    await startService({ variants: { "list-shape": "nope" } });
    await service.close();
    const isRight: boolean = verifySignature("body", "sha256=0", "s");
    return [receiver.received[0]?.attempts[0]?.headers, store, trace?.events, ran, isRight, ALL_VARIANTS, OptionError];
  }
`;

for (const [resolution, ...files] of [
  ["node10", "use.ts"],
  ["node16", "use.ts", "use.mts", "use.cts"],
  ["nodenext", "use.ts", "use.mts", "use.cts"],
  ["bundler", "use.ts"],
])
  clientTest(`its types compile with TypeScript 5 and moduleResolution ${resolution}`, async () => {
    const { write, run } = await installed();
    for (const file of files) await write(file, USE);
    const module =
      { node10: "commonjs", bundler: "esnext" }[String(resolution)] ?? String(resolution);
    const modules = ["--module", module, "--moduleResolution", String(resolution)];
    const types = ["--typeRoots", command("@types"), "--types", "node"];
    const strict = ["--noEmit", "--strict", "--skipLibCheck", "false"];
    for (const target of ["es2020", "es2022"]) {
      const flags = [...modules, ...types, ...strict, "--target", target];
      await run(process.execPath, command("typescript/bin/tsc"), ...flags, ...files).catch(
        (error) => assert.fail(String(error.stdout)),
      );
    }
  });
