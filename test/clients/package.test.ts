// The package as package linters, TypeScript and Yarn see it.
import assert from "node:assert/strict";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CLIENTS, clientTest } from "../support/clients.ts";
import { freshFolder } from "../support/closing.ts";
import { onceInstalled, runAsUser } from "../support/installed-package.ts";

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
  export async function use(): Promise<readonly unknown[]> {
    const service: Service = await startService({ clock: "manual", seed: { accounts: [] } });
    const receiver = await startReceiver({ secret: "s", answers: [500, "hang"] });
    const store: Store = memoryStore();
    const trace: Trace | undefined = service.trace("req_1");
    const ran = await service.clock.advance("5m");
    // @ts-expect-error: there is no such option
    await startService({ prot: 1 });
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

clientTest("import, require and the command work under Yarn Plug'n'Play", async () => {
  const { tarball } = await installed();
  const folder = freshFolder();
  await copyFile(tarball, join(folder, "package.tgz"));
  const dependencies = { "app-hosting-service": "file:./package.tgz" };
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ name: "user", private: true, dependencies }),
  );
  await writeFile(join(folder, "yarn.lock"), "");
  const settings = [
    "nodeLinker: pnp",
    "enableTelemetry: false",
    "enableImmutableInstalls: false",
    "enableNetwork: false",
  ];
  await writeFile(
    join(folder, ".yarnrc.yml"),
    [...settings, "globalFolder: ./.yarn/global", ""].join("\n"),
  );
  const yarn = async (...args: readonly string[]) =>
    (await runAsUser(folder, process.execPath, command("@yarnpkg/cli-dist/bin/yarn.js"), ...args))
      .stdout;
  await yarn("install");
  const use = `(async () => {
    const { startService } = await load;
    const service = await startService();
    console.log((await fetch(service.authUrl + "/docs")).status);
    await service.close();
  })();`;
  await writeFile(join(folder, "use.cjs"), `const load = require("app-hosting-service");\n${use}`);
  await writeFile(join(folder, "use.mjs"), `const load = import("app-hosting-service");\n${use}`);
  for (const file of ["use.cjs", "use.mjs"]) assert.equal(await yarn("node", file), "200\n");
  assert.match(await yarn("app-hosting-service", "--version"), /^\d+\.\d+\.\d+\n$/);
});
