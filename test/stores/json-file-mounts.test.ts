// The JSON-file store on container mounts, with the real server: FILE mounted on its own, read-only folders, tmpfs,
// overlay, and two containers on one folder. Each server has namespaces of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Client, type Members, members, str } from "../support/client.ts";
import { freshFolder } from "../support/closing.ts";
import { started } from "../support/process.ts";

const KEY = "a-key-for-all-containers";

/** Runs in its own PID and mount namespaces, so that no process or mount outlives it. */
const APART = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
const isAllowed = spawnSync("unshare", [...APART, "true"]).status === 0;
const inContainer = {
  timeout: 60_000,
  skip: !isAllowed && "this user may not make namespaces and mounts (CAP_SYS_ADMIN)",
};

/** Starts the server on FILE in a folder, after these shell commands. It has nothing but the folder's files. */
function serveIn(t: TestContext, folder: string, mounts = ":", file = "data.json") {
  const script = `cd "$0"\n${mounts}\ncd "$OLDPWD"\nexec "$@"`;
  const server = [
    process.execPath,
    "--import",
    "tsx",
    "src/bin.ts",
    "--port",
    "0",
    "--log",
    "json",
    "--api-key",
    KEY,
  ];
  const args = [...APART, "sh", "-ec", script, folder, ...server, "--data", join(folder, file)];
  const container = started(args, {}, 0, "unshare");
  t.after(() => container.kill());
  /** Signals the server, the first process in its namespace and the only child of `unshare`. */
  const signal = (name: NodeJS.Signals) => {
    const { pid } = container.child;
    process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")), name);
  };
  const ready = async () => {
    await container.prints("\n");
    return members(JSON.parse(container.said.stdout.split("\n")[0] ?? ""));
  };
  return { ...container, signal, ready };
}

const clientOf = (ready: Members) => new Client({ baseUrl: str(ready.base_url), key: KEY });

const SNAPSHOT = '{"format":2,"collections":{}}';

/** All files in a folder. */
const contents = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => lstatSync(join(folder, name)).isFile())
    .map((name) => `${name}: ${readFileSync(join(folder, name), "utf8")}`);

const BIND = "mount --bind data.json data.json";
const SAYS_MOUNT = /mount the folder that it lies in \(writable\), not the file alone/;
/** Failing starts: FILE's content (null: no file), the commands run before, and the expected message. */
const REFUSED: Readonly<
  Record<string, readonly [content: string | null, before: string, says: RegExp]>
> = {
  "a file mounted on its own": [SNAPSHOT, BIND, /EBUSY.*mounted on its own/],
  "a file from another file system": [
    SNAPSHOT,
    `mount -t tmpfs t elsewhere; printf '%s' '${SNAPSHOT}' > elsewhere/x; mount --bind elsewhere/x data.json`,
    /EBUSY/,
  ],
  "an empty file mounted on its own": ["", BIND, /is empty/],
  "a read-only file mounted on its own": [
    SNAPSHOT,
    `${BIND}; mount -o remount,ro,bind data.json`,
    /EBUSY/,
  ],
  "a folder in the place of a file": [null, "mkdir data.json", /EISDIR.*is a folder/],
  "a folder mounted in the place of a file": [
    null,
    "mkdir data.json; mount --bind elsewhere data.json",
    /EISDIR/,
  ],
  "a read-only folder": [
    SNAPSHOT,
    "mount --bind . .; mount -o remount,ro,bind .",
    /EROFS.*read-only/,
  ],
  "a read-only folder without the file": [
    null,
    "mount --bind . .; mount -o remount,ro,bind .",
    /EROFS/,
  ],
  "a read-only file system": [null, "mount -t tmpfs -o ro t .", /EROFS/],
  "a folder in which this user may create nothing": [
    SNAPSHOT,
    'set -- env -u NODE_V8_COVERAGE setpriv --reuid=65534 --clear-groups "$@"',
    /EACCES.*permissions/,
  ],
  "a link to a file mounted on its own": [
    null,
    `printf '%s' '${SNAPSHOT}' > elsewhere/x; mount --bind elsewhere/x elsewhere/x; ln -s elsewhere/x data.json`,
    /EBUSY.*elsewhere\/x/,
  ],
};
for (const [what, [content, before, says]] of Object.entries(REFUSED))
  test(
    `promise 3: a start with ${what} fails with one line that says what to mount`,
    inContainer,
    async (t) => {
      const folder = freshFolder();
      chmodSync(folder, 0o755);
      mkdirSync(join(folder, "elsewhere"));
      if (content !== null) writeFileSync(join(folder, "data.json"), content, { mode: 0o644 });
      const { code, stdout, stderr } = await serveIn(t, folder, before).ended;
      assert.deepEqual(
        [code, stdout, stderr.trimEnd().split("\n").length],
        [content === "" ? 1 : 2, "", 1],
        stderr,
      );
      for (const said of [new RegExp(`${join(folder, "data.json")}`), says, SAYS_MOUNT])
        assert.match(stderr, said);
      assert.deepEqual(contents(folder), content === null ? [] : [`data.json: ${content}`]);
    },
  );

/** Successful starts: the commands run before, and FILE's path afterwards, if it outlives the mounts. */
const ACCEPTED: Readonly<Record<string, readonly [before: string, file: string | null]>> = {
  "a folder mounted on its own": ["mount --bind . .", "data.json"],
  "a tmpfs": ["mount -t tmpfs t .", null],
  "an overlay": [
    "mkdir elsewhere/upper elsewhere/work; mount -t tmpfs t /mnt; mkdir /mnt/upper /mnt/work; mount -t overlay -o lowerdir=.,upperdir=/mnt/upper,workdir=/mnt/work o .",
    null,
  ],
  "a link into a folder mounted on its own": [
    "mount --bind elsewhere elsewhere; ln -s elsewhere/real.json data.json",
    "elsewhere/real.json",
  ],
};
for (const [what, [before, file]] of Object.entries(ACCEPTED))
  test(
    `promise 3: FILE on ${what} is created and keeps acknowledged commits`,
    inContainer,
    async (t) => {
      const folder = freshFolder();
      mkdirSync(join(folder, "elsewhere"));
      const server = serveIn(t, folder, before);
      await clientOf(await server.ready()).create("/apps", { title: "Kept" });
      server.signal("SIGTERM");
      const { code, stderr } = await server.ended;
      assert.equal(code, 0, stderr);
      if (file !== null) assert.match(readFileSync(join(folder, file), "utf8"), /"title":"Kept"/);
    },
  );

test(
  "promise 4: a second container on one folder fails to start, and a suspended one loses FILE after 10 s and stops writing",
  inContainer,
  async (t) => {
    const folder = freshFolder();
    const first = serveIn(t, folder);
    const firstApi = clientOf(await first.ready());
    await firstApi.create("/apps", { title: "From the first" });
    const refused = await serveIn(t, folder).ended;
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(
      refused.stderr,
      /^\S*data\.json is in use by process 1 in another container or on another machine\. .*\n$/,
    );
    first.signal("SIGSTOP");
    const stopped = performance.now();
    const second = serveIn(t, folder);
    const secondApi = clientOf(await second.ready());
    assert.ok(
      performance.now() - stopped > 8_000,
      "the first had raised its counter 2 s before it was stopped, at most",
    );
    await secondApi.create("/apps", { title: "From the second" });
    first.signal("SIGCONT");
    const answer = await firstApi.post("/apps", { title: "Too late" });
    assert.deepEqual([answer.status, answer.json.code], [503, "storage_unavailable"]);
    assert.equal((await firstApi.get("/apps")).json.total, 1);
    for (const server of [first, second]) {
      server.signal("SIGTERM");
      const { code, stderr } = await server.ended;
      assert.equal(code, 0, stderr);
    }
    const kept = contents(folder);
    assert.equal(kept.length, 1);
    assert.deepEqual(kept.join().match(/"title":"[^"]*"/g), [
      '"title":"From the first"',
      '"title":"From the second"',
    ]);
  },
);
