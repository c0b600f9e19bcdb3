// Holds any implementation of the specification to the clauses of test/spec, and tells how it reads what is left open:
//   npm run conformance -- --base-url https://host/v1 --api-key KEY [--only 6.signature]
// and this server to one of them, or to one of its choices: npm run clause 6.signature
// Exit code 0 where nothing failed, 1 where something did, 2 for wrong use and where nothing could be tried.
import { spawn } from "node:child_process";
import * as consumed from "node:stream/consumers";
import { flag, given, isHttpUrl, text, wrongUse } from "./arguments.ts";
import { chosen } from "./conformance/choices.ts";
import { judge } from "./conformance/judge.ts";
import { ownTarget } from "./conformance/own.ts";
import { Unreachable } from "./conformance/reached.ts";
import { FORMS } from "./conformance/report.ts";
import { scopesKey, type Target } from "./conformance/target.ts";

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
  ...{ "client-id": text, "client-secret": text, "redirect-uri": text, "sign-in": text },
  ...{ token: many, "expired-token": text },
  ...{ "expired-refresh-token": text, "revoked-refresh-token": text },
  ...{ "limited-key": text, "suspended-key": text, "rate-limited-key": text },
  ...{ "receiver-url": text, "receiver-port": text },
} as const;
const asked = given(options, USE);
const { only = "", report: form = "text", own, slow } = asked;
const told = FORMS[form] ?? wrongUse(`--report must be one of ${Object.keys(FORMS).join(", ")}.`, USE);
if (!/^(\d[\w.-]*)?$/.test(only)) wrongUse("--only must be the beginning of a clause's id.", USE);

/** A URL, where one is given. */
function url(name: "base-url" | "auth-url" | "redirect-uri" | "receiver-url"): string | undefined {
  const value = asked[name];
  const isRight = value === undefined || (name === "redirect-uri" ? URL.canParse(value) : isHttpUrl(value));
  return isRight ? value : wrongUse(`--${name} must be a URL, which begins with http:// or https://.`, USE);
}

/** Runs the command in a shell, as it was typed. */
async function signedIn(command: string, authorizeUrl: string): Promise<string> {
  const line = command.replaceAll("{authorize_url}", `'${authorizeUrl.replaceAll("'", "%27")}'`);
  const { stdout } = spawn(line, { shell: true, stdio: ["ignore", "pipe", "inherit"] });
  return (await consumed.text(stdout)).trim().split("\n").at(-1) ?? "";
}

function givenTarget(): Target {
  const { "client-id": id, "client-secret": secret, "sign-in": command, "receiver-port": port = "" } = asked;
  const [redirect_uri, receiverUrl] = [url("redirect-uri"), url("receiver-url")];
  const some = [id, secret, redirect_uri].filter((value) => value !== undefined).length;
  if (some % 3 !== 0) wrongUse("--client-id, --client-secret and --redirect-uri must be given together.", USE);
  if ((receiverUrl !== undefined || port !== "") && !(receiverUrl && /^\d{1,5}$/.test(port)))
    wrongUse("--receiver-url and --receiver-port (a number) must be given together.", USE);
  const pairs = (asked.token ?? []).map(
    (pair) => /^([^=]+)=(.+)$/.exec(pair) ?? wrongUse("--token must be SCOPES=TOKEN.", USE),
  );
  return {
    baseUrl: url("base-url") ?? wrongUse("--base-url is missing.", USE),
    apiKey: asked["api-key"] ?? wrongUse("--api-key is missing.", USE),
    authUrl: url("auth-url"),
    receiver: receiverUrl === undefined ? undefined : { url: receiverUrl, port: Number(port) },
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
const sums = { shown: 0, chosen: 0, failed: 0, "not tried": 0 };
for (const { verdict } of all) sums[verdict] += 1;
console.log(told({ baseUrl: target.baseUrl, profile, results: all, sums }));
if (sums.shown + sums.chosen + sums.failed === 0) wrongUse("Nothing could be tried:", "what is missing stands above.");
process.exitCode = sums.failed > 0 ? 1 : 0;
