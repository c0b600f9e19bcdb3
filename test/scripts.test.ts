// Scripts beside the server: the walk through the specification, the conformance report, the receiver and the others,
// and their command lines.
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { fuzz } from "../scripts/attack/fuzz.ts";
import { spoiled } from "../scripts/attack/wire.ts";
import { judge } from "../scripts/conformance/judge.ts";
import { ownTarget } from "../scripts/conformance/own.ts";
import { FORMS } from "../scripts/conformance/report.ts";
import { Unreachable } from "../scripts/conformance/target.ts";
import { CONFORMING } from "../scripts/wrong/conforming.ts";
import { parseFaults, patchApps, respondWith } from "../scripts/wrong/patches.ts";
import { FAULTS, judgeFault, startFaultyServer } from "../scripts/wrong/server.ts";
import { startService } from "../src/index.ts";
import { verifySignature } from "../src/lib/signature.ts";
import { openHub } from "./support/hub.ts";
import {
  begins,
  closedPort,
  closeLater,
  contains,
  embedded,
  freshFolder,
  httpReceiver,
  listen,
  printedBy,
  ran,
  script,
  shows,
  started,
  str,
} from "./support/index.ts";
import { CLAUSES } from "./support/sources.ts";
import { isRetryOf } from "./support/trial.ts";

test("attack: generated requests and malformed ones find no fault", async () => {
  for (const attack of [fuzz(300, 1), spoiled(100, 1)]) assert.deepEqual((await attack).wrong, []);
});

const KEY = "a-key-for-tests";
const AT = (baseUrl: string) => ["--base-url", baseUrl, "--api-key", KEY];

test("conformance: a correct server gets a line for each clause, and untried clauses name the option to give", async () => {
  await using own = await embedded({ clock: "system", apiKey: KEY, retrySchedule: "500ms" });
  const { api, baseUrl } = own;
  const stdout = await printedBy("conformance.ts", ...AT(`${baseUrl}/`), "--only", "8");
  shows(stdout, "  answers a create with 201\nshown … 8.default-limit …");
  // 3.5 s are not 30.
  shows(stdout, "not tried 8.answer-time …(give --slow, …");
  shows(stdout, "not tried 8.rate-limit-403 …(give --rate-limited-key)");
  shows(stdout, "2 shown, 0 failed, 2 not tried");
  assert.equal((await api.get("/apps")).json.total, 0, "it leaves no app behind");
  const none = await ran("conformance.ts", ...AT(baseUrl), "--only", "8.rate");
  assert.equal(none.code, 2, "nothing that was shown is no success");
});

test("conformance: a server whose rate limit the kit uses up does not fail", async () => {
  await using service = await startService({ apiKey: KEY, rateLimit: 60, retrySchedule: "500ms" });
  const { code, stdout } = await ran("conformance.ts", ...AT(service.baseUrl), "--only", "4");
  shows(stdout, "not tried 4.create-webhook …(403 to all by now: …\n… 0 failed, …");
  assert.notEqual(code, 1);
});

test("conformance: credentials that a client cannot create can be given as options", async () => {
  await using own = await ownTarget();
  const { service, baseUrl, target } = own;
  const { access_token } = await service.signIn({ scopes: ["read:apps"] });
  const at = [
    "--base-url",
    baseUrl,
    "--api-key",
    target["api-key"],
    "--token",
    `read:apps=${access_token}`,
  ];
  await printedBy("conformance.ts", ...at, "--only", "5.403.scope");
  const consenting = createServer(async ({ url = "" }, response) =>
    response.end(await target["sign-in"]?.(decodeURIComponent(url.slice(1)))),
  );
  closeLater(() => consenting.close());
  const there = `http://127.0.0.1:${await listen(consenting)}/`;
  const command = `fetch("${there}" + encodeURIComponent(process.argv[1])).then((it) => it.text()).then(console.log)`;
  const names = ["client-id", "client-secret", "redirect-uri"] as const;
  const client = names.flatMap((name) => [`--${name}`, str(target[name])]);
  const signIn = [
    "--sign-in",
    `node -e '${command}' {authorize_url}`,
    "--only",
    "5.oauth.authorize",
  ];
  await printedBy("conformance.ts", ...at, ...client, ...signIn);
});

/** The base URL of a server that sends this response to every request. */
async function answering(status: number, type: string, body: string, location = "") {
  const headers = { "content-type": type, location };
  const { url } = await httpReceiver(
    (_, response) => void response.writeHead(status, headers).end(body),
  );
  return new URL("/v1", url).href;
}

test("conformance: an incorrect server gets the broken clause on every line and exit code 1", async () => {
  const other = await answering(418, "application/json", "{}");
  const { code, stdout } = await ran("conformance.ts", ...AT(other), "--only", "9");
  assert.equal(code, 1);
  const failing = stdout.split("\n").filter((line) => /^(failed|\s{8})/.test(line));
  assert.ok(failing.length > 1, stdout);
  for (const line of failing) contains(line, "9.path-segment");
});

test("conformance: a server that cannot be checked prints one line with the reason and exits with code 2", async () => {
  await using service = await startService({ apiKey: "another-key" });
  const page = await answering(200, "text/html", "<html>");
  const elsewhere = await answering(301, "text/plain", "", "https://example.com/v1/apps");
  const silent = createTcpServer();
  closeLater(() => silent.close());
  for (const [baseUrl, says] of [
    [`http://127.0.0.1:${await closedPort()}/v1`, "…refuses the connection"],
    [`http://127.0.0.1:${await listen(silent)}/v1`, "…does not answer within"],
    [service.baseUrl, "…answers 401: --api-key"],
    [service.authUrl, "…answers 404: --base-url"],
    [page, "…answers 200 with text/html, and not as JSON"],
    [elsewhere, "…answers 301 and leads to https://example.com/v1/apps"],
    [service.baseUrl.replace("http:", "https:"), "…cannot be reached"],
  ] as const) {
    const target = { "base-url": baseUrl, "api-key": KEY };
    await assert.rejects(judge(target, ""), (error) => {
      assert.ok(error instanceof Unreachable, baseUrl);
      begins(error.message, says);
      return !error.message.includes("\n");
    });
  }
  const { code, stdout, stderr } = await ran("conformance.ts", ...AT(page));
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /^.* Nothing was judged\.\n$/);
});

test("conformance: the report is lines or JSON, and text of a server reaches the terminal escaped", () => {
  const result = {
    id: "4.deploy",
    requirement: "R",
    verdict: "failed",
    why: "<b>\u001b[2J",
  } as const;
  const report = {
    baseUrl: "http://x/v1",
    profile: { create: "answers 201" },
    results: [result],
    sums: { shown: 0, failed: 1, "not tried": 0 },
  };
  assert.deepEqual(JSON.parse(String(FORMS.json?.(report))), report);
  const text = stripVTControlCharacters(String(FORMS.text?.(report)));
  assert.match(text, /^failed +4\.deploy +R\n +4\.deploy: <b>\\\S+\[2J\n\n0 shown, 1 failed/m);
});

test("clause: this server is checked against the one clause named", async () =>
  shows(
    await printedBy("conformance.ts", "--own", "--only", "9.path-segment"),
    "shown … 9.path-segment …\n1 shown, 0 failed, 0 not tried",
  ));

test("conformance:self: at least 80 faults exist, each of a known clause, in all nine parts", () => {
  assert.ok(FAULTS.length >= 80);
  assert.equal(new Set(FAULTS.map(({ id }) => id)).size, FAULTS.length);
  for (const { id, clause, says } of FAULTS) assert.ok(CLAUSES.has(clause) && says !== "", id);
  assert.equal(new Set(FAULTS.map(({ clause }) => clause[0])).size, 9);
});

test("conformance:self: a few faults are caught, each by a clause of its part", async () =>
  contains(
    await printedBy("wrong/self.ts", "--part", "3"),
    "caught … 3.app-no-state …app-status: …0 of 0 right servers called wrong; 2 of 2 faults caught",
  ));

test("conformance:self: a correct server passes, and a fault that no clause detects is reported as survived or never provoked", async () => {
  const [right] = parseFaults({ "right 9: it is right": {} });
  const [unseen] = parseFaults({
    "unseen 9: nobody asks for it": respondWith("GET /nowhere", 500),
  });
  const [seen] = parseFaults({ "seen 9: nobody looks at a title": patchApps("title", undefined) });
  const verdicts = [right, unseen, seen].map((fault) => fault && judgeFault(fault, "9"));
  const reported = (await Promise.all(verdicts)).map(
    (verdict) => `${verdict?.failed.length} ${verdict?.unseen}`,
  );
  assert.match(reported.join(), /^0 [a-z ]+,0 never provoked,0 survived$/);
});

test("conformance:self: a server that sends each event twice passes, and its failures are still detected", async () => {
  const [twice] = parseFaults(CONFORMING).filter(({ id }) => id === "twice");
  const [fault] = FAULTS.filter(({ id }) => id === "missing-success-twice");
  assert.ok(twice && fault);
  const [right, wrong] = await Promise.all([
    judgeFault(twice, "6.success"),
    judgeFault(fault, "6.success"),
  ]);
  assert.deepEqual(right.failed, []);
  begins(wrong.failed.join(), "6.success.2xx-only: answered 404 and not sent again");
});

test("conformance: a late duplicate is no retry where the sender numbers its attempts, and otherwise time decides", () => {
  const request = (at: number, attempt?: string) => {
    const headers = attempt === undefined ? {} : { "x-service-attempt": attempt };
    return { method: "POST", headers, body: Buffer.of(), event: {}, at, ended_at: at };
  };
  for (const [expected, ...attempts] of [
    [false, "1", "1"],
    [true, "1", "2"],
    [true, undefined, undefined],
  ] as const)
    assert.equal(isRetryOf(request(0, attempts[0]), request(1_000, attempts[1])), expected);
  assert.equal(isRetryOf(request(0), request(100)), false);
});

test("conformance:self: deliveries go through the proxy, which changes them only if the fault says so", async () => {
  for (const [name, method] of Object.entries({ "sent-put": "PUT", "": "POST" })) {
    await using server = await startFaultyServer(FAULTS.find(({ id }) => id === name));
    const { target, proxy, service } = server;
    await using hub = await openHub();
    const { url, arrived } = hub.open();
    const api = server.api.at(target["base-url"]);
    const webhook = await api.create("/webhooks", { url, events: ["app.created"], secret: "s" });
    assert.equal(webhook.url, url, "nobody sees that it leads elsewhere");
    await api.newApp();
    const [first] = await arrived(() => true);
    await service.settled();
    assert.deepEqual([first?.method, proxy.patched()], [method, name === "" ? 0 : 1]);
    assert.ok(
      verifySignature(first?.body ?? "", String(first?.headers["x-service-signature"]), "s"),
    );
  }
});

test("conformance:self: --serve starts the named server, with all that a client needs", async () => {
  const { said, prints, kill } = script("wrong/self.ts", "--serve", "app-status");
  await prints("}");
  assert.match(said.stdout, /'base-url': 'http:\/\/127\.0\.0\.1:\d+\/v1',\n +.*\n +'api-key'/);
  await kill();
});

const AT_X = "--base-url http://x/v1 --api-key k";

/** The error message of each wrong use. */
const WRONG = {
  "conformance.ts": "--base-url is missing.…Usage: npm run conformance",
  [`conformance.ts ${AT_X} --only *`]: "--only must be …Usage: npm run conformance",
  "conformance.ts --base-url localhost:4600/v1": "--base-url must be a URL, which begins with",
  "conformance.ts --own --only 9.nothing": "No clause begins with 9.nothing.",
  [`conformance.ts ${AT_X} --token x`]: "--token must be SCOPES=TOKEN",
  [`conformance.ts ${AT_X} --client-id c`]: "--client-id, …must be given together",
  "bench/main.ts calm": "There is no calm. Choose from: http, file, delivery, start",
  "mutate.ts --rooms attic": "…Usage: npm run mutate",
  "mutate.ts --everything": "…Usage: npm run mutate",
  "wrong/self.ts --only nothing": "There is no such fault.…Usage: npm run conformance:self",
  "wrong/self.ts --serve nothing": "There is no such fault.…Usage: npm run conformance:self",
};

test("scripts: wrong use prints the usage and exits with code 2", async () => {
  for (const [use, message] of Object.entries(WRONG)) {
    const [script = "", ...args] = use.split(" ");
    const { code, stderr } = await ran(script, ...args);
    assert.equal(code, 2, use);
    begins(stderr, message);
  }
});

test("scripts: a reader may close the output early without an error", async () => {
  const { child, prints, ended } = script("demo.ts");
  await prints("\n");
  child.stdout.destroy();
  const { code, stderr } = await ended;
  assert.deepEqual([code, stderr], [0, ""]);
});

test("npm test: a process that ends early, a file that throws and a file without tests are failures", async () => {
  const folder = freshFolder();
  for (const name of ["choices", "spec", "units"])
    mkdirSync(join(folder, "test", name), { recursive: true });
  symlinkSync(resolve("test/support"), join(folder, "test/support"));
  const tsx = ["--import", import.meta.resolve("tsx"), resolve("scripts/test.ts")];
  tsx.push("--only", "test/units/one.test.ts:1");
  for (const [text, says] of [
    [
      'import { test } from "node:test"; test("a", () => process.exit()); test("b", () => {});',
      /ended before its last test/,
    ],
    ['throw new Error("broken");', /broken/],
    ["", /No test ran/],
  ] as const) {
    writeFileSync(join(folder, "test/units/one.test.ts"), text);
    const command = ["-c", 'cd "$0" && exec "$@"', folder, process.execPath, ...tsx];
    const { code, stdout } = await started(command, {}, 60_000, "sh").ended;
    assert.equal(code, 1, stdout);
    assert.match(stdout, says);
  }
});
