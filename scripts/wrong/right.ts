// Servers that keep the specification and are not like this one: each reads a gap in another way, and none may be told
// that it is wrong. Those that a start can be asked for come from the register, the others are made on the way.
import { READINGS } from "../../src/domain/readings.ts";
import { objectIn } from "../../test/support/shown.ts";
import type { Answer } from "./proxy.ts";
import * as way from "./ways.ts";
import { answers, answersJson, changed, type Faults, isAt, refuses, type Way, type Wrong } from "./ways.ts";

const asOffset = (text: string) => text.replace(/(\d\d:\d\d:\d\d)\.\d+Z"/g, '$1+00:00"');
const read = (readings: object): Wrong => ({ options: { readings } });
const SWITCHED = Object.entries(READINGS).map(([id, name]) => [
  `${id}=${name} ${id}: by --reading`,
  read({ [id]: name }),
]);

const BESIDE =
  "(GET|PUT|PATCH|DELETE) /(apps|users|data-sources|webhooks)/*|GET /(data-sources|webhooks|users)|POST /(oauth/revoke|apps/*/interactions)";

const inTypeOfItsOwn = (answer: Answer) =>
  /json/.test(answer.headers["content-type"] ?? "")
    ? way.header(answer, "content-type", "application/vnd.apps+json")
    : answer;

/** The list from its other end. */
const newestFirst: Way = async (asked, send) => {
  if (!isAt("GET /apps", asked)) return send(asked);
  const query = new URLSearchParams(asked.url.split("?")[1]);
  const [limit, offset] = [Number(query.get("limit") ?? 20), Number(query.get("offset") ?? 0)];
  for (const name of ["limit", "offset"]) query.delete(name);
  const part = (from: number, to: number) => {
    const span = new URLSearchParams([...query, ["limit", String(to - from || 1)], ["offset", String(from)]]);
    return send({ ...asked, url: `/v1/apps?${span}` });
  };
  const total = Number(objectIn((await part(0, 1)).body).total ?? 0);
  const [from, to] = [Math.max(total - offset - limit, 0), Math.max(total - offset, 0)];
  return changed(await part(from, to), "data", (data) => (to > from ? [data].flat().toReversed() : []));
};

/** Success has no body. */
const empty = (answer: Answer): Answer => (answer.status < 300 ? { ...answer, status: 204, body: "" } : answer);

export const RIGHT: Faults = {
  "itself 1: this server": {},
  ...Object.fromEntries(SWITCHED),
  "every-reading 1: all of them at once": read(READINGS),
  "list-of-apps 4.list-shape: a list is {apps, count}": answersJson("GET /apps", "", (list) => ({
    apps: Object(list).data,
    count: Object(list).total,
  })),
  "newest-first 4.list-order: the newest app is listed first": { api: newestFirst },
  "limit-of-20 8.page-limit: no page holds more than 20": refuses(
    "GET /apps",
    400,
    ({ url }) => Number(/limit=(\d+)/.exec(url)?.[1]) > 20,
  ),
  "deploy-empty 4.deploy: a deployment is answered without a body": answers("POST /apps/*/deploy", empty),
  "hook-empty 4.webhook: a webhook is answered without a body": answers("POST /webhooks", empty),
  "errors-empty 7.errors: errors have no members": answers("", (answer) =>
    answer.status < 400 ? answer : way.bare(answer.status),
  ),
  "times-in-seconds 2.times: times end in +00:00, without fractions": {
    api: async (asked, send) => ((answer) => ({ ...answer, body: asOffset(answer.body) }))(await send(asked)),
    hook: (delivery, send) => send(way.signed(delivery, asOffset(delivery.body))),
  },
  "create-more 4.create-app: a create answers more than a list": answersJson("POST /apps", "url", way.is("")),
  "json-of-its-own 4.media-type: it speaks application/vnd.apps+json": answers("", inTypeOfItsOwn),
  "more-members 2.members: apps and events have more members": {
    ...way.apps("owner", way.is(null)),
    ...way.tells("", "api_version", way.is("1")),
  },
  "camel-tokens 5.token-response: tokens are named in another way": answersJson("POST /oauth/token", "", (tokens) => ({
    accessToken: Object(tokens).access_token,
    refreshToken: Object(tokens).refresh_token,
  })),
  "nothing-beside 4.operations: there are no operations but the six": refuses(
    BESIDE,
    404,
    ({ method, url }) => !(method === "DELETE" && url.includes("/apps/")),
  ),
  "hooks-over-https 6.policy: webhooks lead to https alone": refuses("POST /webhooks", 422, ({ body }) =>
    body.includes('"http:'),
  ),
  "never-again 6.retry: nothing is sent again": way.takes(() => 200),
};
