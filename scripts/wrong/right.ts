// Correct servers that differ from this one: each reads a gap of the specification in another way, and must pass the
// kit. Variants of the register are start options; the proxy produces the others.
import { ALL_VARIANTS } from "../../src/http/variants.ts";
import { objectIn } from "../../test/support/shown.ts";
import type { Answer, Message } from "./proxy.ts";
import * as way from "./ways.ts";
import {
  answers,
  answersJson,
  changed,
  type Faults,
  refuses,
  type Way,
  type Wrong,
} from "./ways.ts";

const asOffset = (text: string) => text.replace(/(\d\d:\d\d:\d\d)\.\d+Z"/g, '$1+00:00"');
const read = (readings: object): Wrong => ({ options: { variants: readings } });
const switched = ([id, name]: [string, unknown]) => [
  `${id}=${name} ${id}: by --variant`,
  read({ [id]: name }),
];

const ONES = "(GET|PUT|PATCH|DELETE) /(apps|users|data-sources|webhooks)/*";
const BESIDE = `${ONES}|GET /(data-sources|webhooks|users)|POST /(oauth/revoke|apps/*/interactions)`;
const isDelete = ({ method, url }: Message) => method === "DELETE" && url.includes("/apps/");
const isBeyond = ({ url }: Message) => Number(/limit=(\d+)/.exec(url)?.[1]) > 20;
const isBare = ({ body }: Message) => body.includes('"http:');

const inTypeOfItsOwn = (answer: Answer) =>
  way.isJson(answer) ? way.header(answer, "content-type", "application/vnd.apps+json") : answer;

/** Reverses the order of lists. */
const newestFirst: Way = async (asked, send) => {
  const query = new URLSearchParams(asked.url.split("?")[1]);
  const [limit, offset] = [Number(query.get("limit") ?? 20), Number(query.get("offset") ?? 0)];
  for (const name of ["limit", "offset"]) query.delete(name);
  const part = (from: number, to: number) => {
    const span = new URLSearchParams([
      ...query,
      ["limit", String(to - from || 1)],
      ["offset", String(from)],
    ]);
    return send({ ...asked, url: `/v1/apps?${span}` });
  };
  const total = Number(objectIn((await part(0, 1)).body).total ?? 0);
  const [from, to] = [Math.max(total - offset - limit, 0), Math.max(total - offset, 0)];
  return changed(await part(from, to), "data", (data) =>
    to > from ? [data].flat().toReversed() : [],
  );
};

/** Removes the body of successful responses. */
const empty = (answer: Answer): Answer =>
  answer.status < 300 ? { ...answer, status: 204, body: "" } : answer;
const emptyError = (answer: Answer): Answer =>
  answer.status < 400 ? answer : way.bare(answer.status);
const called = (from: Readonly<Record<string, string>>) => (value: unknown) =>
  Object.fromEntries(Object.entries(from).map(([name, other]) => [other, Object(value)[name]]));
const otherTokens = called({ access_token: "accessToken", refresh_token: "refreshToken" });
const inSeconds = way.both(
  answers("", (answer) => ({ ...answer, body: asOffset(answer.body) })),
  way.asks(way.EVENT, (event) => ({ ...event, body: asOffset(event.body) })),
);

/** Repeats one of every `outOf` deliveries, `after_ms` after its response. */
function sentTwice(after_ms: number, outOf = 1): Way {
  let count = 0;
  return way.where(way.EVENT, async (event, send) => {
    const answer = await send(event);
    count += 1;
    if (count % outOf > 0) return answer;
    const again = () => send(event).catch(() => answer);
    if (after_ms === 0) await again();
    else setTimeout(again, after_ms).unref();
    return answer;
  });
}

export const RIGHT: Faults = {
  "itself 1: this server": {},
  ...Object.fromEntries(Object.entries(ALL_VARIANTS).map(switched)),
  "every-reading 1: all of them at once": read(ALL_VARIANTS),
  "list-of-apps 4.list-shape: a list is {apps, count}": answersJson(
    "GET /apps",
    "",
    called({ data: "apps", total: "count" }),
  ),
  "newest-first 4.list-order: the newest app is listed first": way.where("GET /apps", newestFirst),
  "limit-of-20 8.page-limit: no page holds more than 20": refuses("GET /apps", 400, isBeyond),
  "deploy-empty 4.deploy: a deployment is answered without a body": answers(
    "POST /apps/*/deploy",
    empty,
  ),
  "hook-empty 4.webhook: a webhook is answered without a body": answers("POST /webhooks", empty),
  "errors-empty 7.errors: errors have no members": answers("", emptyError),
  "times-in-seconds 2.times: times end in +00:00, without fractions": inSeconds,
  "create-more 4.create-app: a create answers more than a list": answersJson(
    "POST /apps",
    "url",
    way.is(""),
  ),
  "json-of-its-own 4.media-type: it speaks application/vnd.apps+json": answers("", inTypeOfItsOwn),
  "more-members 2.members: apps and events have more members": way.both(
    way.apps("owner", way.is(null)),
    way.asksJson(way.EVENT, "api_version", way.is("1")),
  ),
  "camel-tokens 5.token-response: tokens have other names": answersJson(
    "POST /oauth/token",
    "",
    otherTokens,
  ),
  "nothing-beside 4.operations: there are but the six": refuses(
    BESIDE,
    404,
    (asked) => !isDelete(asked),
  ),
  "hooks-over-https 6.policy: webhooks lead to https alone": refuses("POST /webhooks", 422, isBare),
  "twice 6.at-least-once: each event is sent twice, one after the other": sentTwice(0),
  "twice-at-once 6.at-least-once: each event is sent twice at the same time": way.where(
    way.EVENT,
    async (event, send) => {
      const [answer] = await Promise.all([send(event), send(event)]);
      return answer;
    },
  ),
  "twice-later 6.at-least-once: each event is sent twice, the second time later": sentTwice(600),
  "twice-sometimes 6.at-least-once: every third delivery is sent twice": sentTwice(0, 3),
  "twice-never-again 6.retry: each event is sent twice, and nothing is sent again": way.both(
    answers(way.EVENT, (answer) => ({ ...answer, status: 200 })),
    sentTwice(0),
  ),
  "never-again 6.retry: nothing is sent again": answers(way.EVENT, (answer) => ({
    ...answer,
    status: 200,
  })),
};
