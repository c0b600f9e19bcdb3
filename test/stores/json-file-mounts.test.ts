// The JSON-file store on container mounts, with the real server: FILE mounted on its own, read-only folders, and two
// containers on one folder. Each server has namespaces of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  Client,
  freshFolder,
  members,
  serverProgram,
  skipUnless,
  started,
  str,
} from "../support/index.ts";

/** Runs in its own PID and mount namespaces, so that no process or mount outlives it. */
const APART = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
const isAllowed = spawnSync("unshare", [...APART, "true"]).status === 0;
const inContainer = {
  timeout: 60_000,
  skip: skipUnless(isAllowed, "MOUNTS", "this user may not make namespaces and mounts"),
};
const FLAGS = "--port 0 --log json --api-key a-key-for-all --data".split(" ");

/** A folder that another user may read, with a folder in it. */
function createFolder() {
  const folder = freshFolder();
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "elsewhere"));
  return folder;
}

/** Starts the server on data.json in a folder, after these shell commands. */
function serveIn(t: TestContext, folder: string, mounts = ":") {
  const script = `cd "$0"\n${mounts}\ncd "$OLDPWD"\nexec "$@"`;
  const file = join(folder, "data.json");
  const server = [process.execPath, ...serverProgram(), ...FLAGS, file];
  const container = started([...APART, "sh", "-ec", script, folder, ...server], {}, 0, "unshare");
  t.after(() => container.kill());
  /** Waits for the server, and returns a client of its API. */
  const connect = async () => {
    await container.prints("\n");
    const ready = members(JSON.parse(container.said.stdout));
    return new Client({ baseUrl: str(ready.base_url), key: "a-key-for-all" });
  };
  /** Stops the server, the first process in its namespace and the only child of `unshare`. */
  const stop = async () => {
    const { pid } = container.child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    process.kill(Number(children), "SIGTERM");
    const { code, stderr } = await container.ended;
    assert.equal(code, 0, stderr);
  };
  return { ended: container.ended, connect, stop };
}

const SNAPSHOT = '{"format":2,"collections":{}}';
const READ_ONLY = "mount --bind . .; mount -o remount,ro,bind .";

/** Failing starts: the commands run before, and the expected error. */
const REFUSED = {
  "a file mounted on its own": ["mount --bind data.json data.json", /EBUSY/],
  "a folder in the place of a file": ["rm data.json; mkdir data.json", /EISDIR/],
  "a read-only folder": [READ_ONLY, /EROFS/],
  "a read-only folder without the file": [`rm data.json; ${READ_ONLY}`, /EROFS/],
  "a folder in which this user may create nothing": [
    'set -- env -u NODE_V8_COVERAGE setpriv --reuid=65534 --clear-groups "$@"',
    /EACCES/,
  ],
  "a link to a file mounted on its own": [
    "mv data.json elsewhere/x; mount --bind elsewhere/x elsewhere/x; ln -s elsewhere/x data.json",
    /EBUSY.*elsewhere\/x/,
  ],
} as const;
for (const [what, [before, error]] of Object.entries(REFUSED))
  test(
    `promise 3: a start with ${what} fails with one line that says what to mount`,
    inContainer,
    async (t) => {
      const folder = createFolder();
      const file = join(folder, "data.json");
      writeFileSync(file, SNAPSHOT, { mode: 0o644 });
      const { code, stdout, stderr } = await serveIn(t, folder, before).ended;
      assert.deepEqual([code, stdout], [2, ""], stderr);
      for (const pattern of [
        /^--data: .*data\.json cannot be used \(.*\n$/,
        error,
        /mount the folder/,
      ])
        assert.match(stderr, pattern);
      if (!before.includes("data.json")) assert.equal(readFileSync(file, "utf8"), SNAPSHOT);
    },
  );

for (const [what, before, file] of [
  ["a folder mounted on its own", "mount --bind . .", "data.json"],
  [
    "a link into a folder mounted on its own",
    "mount --bind elsewhere elsewhere; ln -s elsewhere/real.json data.json",
    "elsewhere/real.json",
  ],
] as const)
  test(
    `promise 3: FILE on ${what} is created and keeps acknowledged commits`,
    inContainer,
    async (t) => {
      const folder = createFolder();
      const server = serveIn(t, folder, before);
      await (await server.connect()).create("/apps", { title: "Kept" });
      await server.stop();
      assert.match(readFileSync(join(folder, file), "utf8"), /"title":"Kept"/);
    },
  );

/** The second server watches the counter of the first, which is raised every two real seconds. */
const inRealTime =
  process.env.TEST_REAL_TIME === "1"
    ? inContainer
    : { skip: "it waits for real seconds; TEST_REAL_TIME=1 runs it" };

test("promise 4: a second container on one folder fails to start", inRealTime, async (t) => {
  const folder = freshFolder();
  const first = serveIn(t, folder);
  await first.connect();
  const { code, stdout, stderr } = await serveIn(t, folder).ended;
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    /^\S*data\.json is in use by process 1 in another container or on another machine\. .*\n$/,
  );
  await first.stop();
});
