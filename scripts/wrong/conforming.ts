// Correct servers that differ from this one: each reads a gap of the specification in another way, and must pass the
// kit. Variants are start options; the proxy produces the others.
import { ALL_VARIANTS } from "../../src/http/variants.ts";
import { objectIn } from "../../test/support/shown.ts";
import type { ProxyRequest, ProxyResponse } from "./patches.ts";
import * as patches from "./patches.ts";
import {
  type FaultTable,
  type FaultyServer,
  type Patch,
  patchResponse,
  patchResponseBody,
  respondWith,
  withBody,
} from "./patches.ts";

const asOffset = (text: string) => text.replace(/(\d\d:\d\d:\d\d)\.\d+Z"/g, '$1+00:00"');
const withVariants = (variants: object): FaultyServer => ({ options: { variants } });
const toVariantServer = ([id, name]: [string, unknown]) => [
  `${id}=${name} ${id}: by --variant`,
  withVariants({ [id]: name }),
];

const ONES = "(GET|PUT|PATCH|DELETE) /(apps|users|data-sources|webhooks)/*";
const BESIDE = `${ONES}|GET /(data-sources|webhooks|users)|POST /(oauth/revoke|apps/*/interactions)`;
const isDelete = ({ method, url }: ProxyRequest) => method === "DELETE" && url.includes("/apps/");
const isBeyond = ({ url }: ProxyRequest) => Number(/limit=(\d+)/.exec(url)?.[1]) > 20;
const isBare = ({ body }: ProxyRequest) => body.includes('"http:');

const inTypeOfItsOwn = (response: ProxyResponse) =>
  patches.isJson(response)
    ? patches.withHeader(response, "content-type", "application/vnd.apps+json")
    : response;

/** Reverses the order of lists. */
const newestFirst: Patch = async (request, send) => {
  const query = new URLSearchParams(request.url.split("?")[1]);
  const [limit, offset] = [Number(query.get("limit") ?? 20), Number(query.get("offset") ?? 0)];
  for (const name of ["limit", "offset"]) query.delete(name);
  const part = (from: number, to: number) => {
    const span = new URLSearchParams([
      ...query,
      ["limit", String(to - from || 1)],
      ["offset", String(from)],
    ]);
    return send({ ...request, url: `/v1/apps?${span}` });
  };
  const total = Number(objectIn((await part(0, 1)).body).total ?? 0);
  const [from, to] = [Math.max(total - offset - limit, 0), Math.max(total - offset, 0)];
  return withBody(await part(from, to), "data", (data) =>
    to > from ? [data].flat().toReversed() : [],
  );
};

/** Removes the body of successful responses. */
const empty = (response: ProxyResponse): ProxyResponse =>
  response.status < 300 ? { ...response, status: 204, body: "" } : response;
const emptyError = (response: ProxyResponse): ProxyResponse =>
  response.status < 400 ? response : patches.emptyObject(response.status);
const called = (from: Readonly<Record<string, string>>) => (value: unknown) =>
  Object.fromEntries(Object.entries(from).map(([name, other]) => [other, Object(value)[name]]));
const otherTokens = called({ access_token: "accessToken", refresh_token: "refreshToken" });
const inSeconds = patches.compose(
  patchResponse("", (response) => ({ ...response, body: asOffset(response.body) })),
  patches.patchRequest(patches.EVENT, (event) => ({ ...event, body: asOffset(event.body) })),
);

/** Repeats one of every `outOf` deliveries after its response. */
function sentTwice(outOf = 1): Patch {
  let count = 0;
  return patches.on(patches.EVENT, async (event, send) => {
    const response = await send(event);
    count += 1;
    if (count % outOf === 0) await send(event).catch(() => response);
    return response;
  });
}

export const CONFORMING: FaultTable = {
  "itself 1: this server": {},
  ...Object.fromEntries(Object.entries(ALL_VARIANTS).map(toVariantServer)),
  "every-reading 1: all of them at once": withVariants(ALL_VARIANTS),
  "list-of-apps 4.list-shape: a list is {apps, count}": patchResponseBody(
    "GET /apps",
    "",
    called({ data: "apps", total: "count" }),
  ),
  "newest-first 4.list-order: the newest app is listed first": patches.on("GET /apps", newestFirst),
  "limit-of-20 8.page-limit: no page holds more than 20": respondWith("GET /apps", 400, isBeyond),
  "deploy-empty 4.deploy: a deployment is answered without a body": patchResponse(
    "POST /apps/*/deploy",
    empty,
  ),
  "hook-empty 4.webhook: a webhook is answered without a body": patchResponse(
    "POST /webhooks",
    empty,
  ),
  "errors-empty 7.errors: errors have no members": patchResponse("", emptyError),
  "times-in-seconds 2.times: times end in +00:00, without fractions": inSeconds,
  "create-more 4.create-app: a create answers more than a list": patchResponseBody(
    "POST /apps",
    "url",
    patches.toValue(""),
  ),
  "json-of-its-own 4.media-type: it speaks application/vnd.apps+json": patchResponse(
    "",
    inTypeOfItsOwn,
  ),
  "more-members 2.members: apps and events have more members": patches.compose(
    patches.patchApps("owner", patches.toValue(null)),
    patches.patchRequestBody(patches.EVENT, "api_version", patches.toValue("1")),
  ),
  "camel-tokens 5.token-response: tokens have other names": patchResponseBody(
    "POST /oauth/token",
    "",
    otherTokens,
  ),
  "nothing-beside 4.operations: there are but the six": respondWith(
    BESIDE,
    404,
    (request) => !isDelete(request),
  ),
  "hooks-over-https 6.policy: webhooks lead to https alone": respondWith(
    "POST /webhooks",
    422,
    isBare,
  ),
  "twice 6.at-least-once: each event is sent twice, one after the other": sentTwice(),
  "twice-at-once 6.at-least-once: each event is sent twice at the same time": patches.on(
    patches.EVENT,
    async (event, send) => {
      const [response] = await Promise.all([send(event), send(event)]);
      return response;
    },
  ),
  "twice-sometimes 6.at-least-once: every third delivery is sent twice": sentTwice(3),
  "twice-never-again 6.retry: each event is sent twice, and nothing is sent again": patches.compose(
    patchResponse(patches.EVENT, (response) => ({ ...response, status: 200 })),
    sentTwice(),
  ),
  "never-again 6.retry: nothing is sent again": patchResponse(patches.EVENT, (response) => ({
    ...response,
    status: 200,
  })),
};
