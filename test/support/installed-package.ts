// The package as its users get it: built, packed and installed in a temporary folder, without a network. Each test file
// has its own folder, so that no two of them build into one.
import { execFile } from "node:child_process";
import { copyFile, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CLIENTS } from "./clients.ts";
import { freshFolder } from "./closing.ts";

const execute = promisify(execFile);
const TIMEOUT_MS = 120_000;

type InstalledPackage = Awaited<ReturnType<typeof installPackage>>;

/** Installs the package at the first call, so not if all tests are skipped. */
export function onceInstalled(): () => Promise<InstalledPackage> {
  let installed: Promise<InstalledPackage> | undefined;
  return () => {
    installed ??= installPackage();
    return installed;
  };
}

export async function installPackage() {
  const [source, folder] = [freshFolder(), freshFolder()];
  for (const name of ["package.json", "README.md", "LICENSE"])
    await copyFile(name, join(source, name));
  await execute(process.execPath, ["--import", "tsx", "scripts/build.ts", join(source, "dist")]);
  const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", source];
  const packed = await execute("npm", pack, { cwd: source });
  const tarball = join(source, packed.stdout.trim());
  await writeFile(join(folder, "package.json"), '{"name":"user","private":true}');
  await execute("npm", ["install", "--offline", "--no-audit", "--no-fund", "--silent", tarball], {
    cwd: folder,
  });

  const write = (file: string, text: string | Buffer) => writeFile(join(folder, file), text);

  /** Runs a command in the folder as a user would, without the environment of this test run and of npm. */
  const run = (command: string, ...args: readonly string[]) => {
    const own = Object.entries(process.env).filter(
      ([name]) => !/^(NODE_TEST_|APPHOST_|PORT$|npm_|INIT_CWD$|FORCE_COLOR$)/i.test(name),
    );
    const env = { ...Object.fromEntries(own), NO_COLOR: "1" };
    return execute(command, args, { cwd: folder, env, timeout: TIMEOUT_MS });
  };

  /** Writes the file and runs Node on it. */
  const runFile = async (file: string, text: string, ...flags: readonly string[]) => {
    await write(file, text);
    return run(process.execPath, ...flags, file);
  };

  /** Makes a package of test/clients resolvable from the folder. */
  const link = (name: string) =>
    symlink(join(CLIENTS, "node_modules", name), join(folder, "node_modules", name));

  /** Copies a recipe into the folder: the README contains the one for node:test, and links to the others. */
  const copyRecipe = async (file: string) => {
    const readme = await readFile("README.md", "utf8");
    const [, inReadme] = new RegExp(`^\`\`\`\\w+ ${file}\\n(.*?)^\`\`\`$`, "ms").exec(readme) ?? [];
    if (inReadme === undefined && !readme.includes(`(${RECIPES}/${file})`))
      throw new Error(`the README does not lead to ${file}`);
    await write(file, inReadme ?? (await readFile(join(RECIPES, file))));
    return file;
  };

  return {
    folder,
    tarball,
    dist: join(folder, "node_modules/app-hosting-service/dist"),
    write,
    run,
    runFile,
    link,
    copyRecipe,
  };
}

const RECIPES = "test/embedding/recipes";
