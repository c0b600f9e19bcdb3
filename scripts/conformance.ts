// Holds any implementation of the specification to the clauses of test/spec, and tells how it reads what is left open:
//   npm run conformance -- --base-url https://host/v1 --api-key KEY [--only 6.signature]
// and this server to one of them, or to one of its choices: npm run clause 6.signature
// Exit code 0 where nothing failed, 1 where something did, 2 for wrong use and where nothing could be tried.
import { spawn } from "node:child_process";
import * as consumed from "node:stream/consumers";
import { flag, given, isHttpUrl, text, wrongUse } from "./arguments.ts";
import { chosen, judge } from "./conformance/judge.ts";
import { ownTarget } from "./conformance/own.ts";
import { FORMS, reportOf } from "./conformance/report.ts";
import { scopesKey, type Target, Unreachable } from "./conformance/target.ts";

const USE = `Usage: npm run conformance -- --base-url URL --api-key KEY
  --base-url URL     the REST API of the implementation, which ends in /v1
  --api-key KEY      a key of an account that tests may use
  --only ID          only clauses whose id begins so, such as 6.signature or 8
  --report FORM      ${Object.keys(FORMS).join(", ")}
  --slow             waits for the real 30 seconds of part 6
  --own              in place of URL and key: this server, with all that follows
What a client cannot make by itself is tried where it is given:
  --auth-url URL     the authorization server, where it is not the root of --base-url
  --client-id ID --client-secret SECRET --redirect-uri URI
  --sign-in "COMMAND {authorize_url}"   signs in, consents and prints the URL that the browser was sent back to
  --token SCOPES=TOKEN                  an access token, such as read:apps=eyJ… (repeatable; commas between scopes)
  --expired-token, --expired-refresh-token, --revoked-refresh-token TOKEN
  --limited-key, --suspended-key, --rate-limited-key KEY
  --receiver-url URL --receiver-port N  the public address of deliveries, and where it leads to on this machine`;

const many = { type: "string", multiple: true } as const;
const options = {
  ...{ "base-url": text, "api-key": text, only: text, report: text, slow: flag, own: flag, "auth-url": text },
  ...{ "client-id": text, "client-secret": text, "redirect-uri": text, "sign-in": text, token: many },
  ...{ "expired-token": text, "expired-refresh-token": text, "revoked-refresh-token": text },
  ...{ "limited-key": text, "suspended-key": text, "rate-limited-key": text },
  ...{ "receiver-url": text, "receiver-port": text },
} as const;
const asked = given(options, USE);
const { only = "", report: form = "text", own, slow } = asked;
const wrong = (why: string) => wrongUse(why, USE);
const told = FORMS[form] ?? wrong(`--report must be one of ${Object.keys(FORMS).join(", ")}.`);
if (!/^(\d[\w.-]*)?$/.test(only)) wrong("--only must be the beginning of a clause's id.");

/** Runs the command in a shell, as it was typed. */
async function signedIn(command: string, authorizeUrl: string): Promise<string> {
  const line = command.replaceAll("{authorize_url}", `'${authorizeUrl.replaceAll("'", "%27")}'`);
  const { stdout } = spawn(line, { shell: true, stdio: ["ignore", "pipe", "inherit"] });
  return (await consumed.text(stdout)).trim().split("\n").at(-1) ?? "";
}

function givenTarget(): Target {
  const { "client-id": id, "client-secret": secret, "redirect-uri": redirect_uri, "sign-in": command } = asked;
  const { "receiver-url": url, "receiver-port": port } = asked;
  for (const name of ["base-url", "auth-url", "receiver-url"] as const)
    if (!isHttpUrl(asked[name] ?? "http://x")) wrong(`--${name} must be a URL, which begins with http:// or https://.`);
  if (!URL.canParse(redirect_uri ?? "http://x")) wrong("--redirect-uri must be a URI.");
  if (!/^\d{1,5}$/.test(port ?? "0")) wrong("--receiver-port must be a number.");
  const together = (names: string, values: readonly unknown[]) => {
    const some = values.filter((value) => value !== undefined).length;
    if (some % values.length !== 0) wrong(`${names} must be given together.`);
  };
  together("--client-id, --client-secret and --redirect-uri", [id, secret, redirect_uri]);
  together("--receiver-url and --receiver-port", [url, port]);
  const pairs = (asked.token ?? []).map(
    (pair) => /^([^=]+)=(.+)$/.exec(pair) ?? wrong("--token must be SCOPES=TOKEN."),
  );
  return {
    baseUrl: asked["base-url"] ?? wrong("--base-url is missing."),
    apiKey: asked["api-key"] ?? wrong("--api-key is missing."),
    authUrl: asked["auth-url"],
    receiver: url === undefined ? undefined : { url, port: Number(port) },
    client: id && secret && redirect_uri ? { id, secret, redirect_uri } : undefined,
    signIn: command === undefined ? undefined : (authorizeUrl) => signedIn(command, authorizeUrl),
    tokens: Object.fromEntries(pairs.map(([, scopes = "", token = ""]) => [scopesKey(scopes), token])),
    limitedKey: asked["limited-key"],
    suspendedKey: asked["suspended-key"],
    rateLimitedKey: asked["rate-limited-key"],
    expiredToken: asked["expired-token"],
    expiredRefreshToken: asked["expired-refresh-token"],
    revokedRefreshToken: asked["revoked-refresh-token"],
    slow,
  };
}

const mine = own ? await ownTarget() : undefined;
const target = mine ? { ...mine.target, slow } : givenTarget();
const { profile, results } = await judge(target, only).catch((error: unknown) => {
  if (error instanceof Unreachable) return wrongUse(error.message, "Nothing was judged.");
  throw error;
});
await mine?.close();
const all = [...results, ...(own && only !== "" ? await chosen(only) : [])];
if (all.length === 0) wrongUse(`No clause begins with ${only}.`, USE);
const report = reportOf(target.baseUrl, { profile, results: all });
const { sums } = report;
console.log(told(report));
if (sums.shown + sums.chosen + sums.failed === 0) wrongUse("Nothing could be tried:", "what is missing stands above.");
process.exitCode = sums.failed > 0 ? 1 : 0;
