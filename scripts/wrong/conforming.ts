// Correct servers that differ from this one: each reads a gap of the specification in another way, and must pass the
// kit. Variants are start options; the proxy produces the others.
import { ALL_VARIANTS } from "../../src/http/variants.ts";
import {
  compose,
  EVENT,
  emptyObject,
  type FaultTable,
  type FaultyServer,
  isJson,
  on,
  type Patch,
  type ProxyRequest,
  type ProxyResponse,
  patchApps,
  patchRequest,
  patchRequestBody,
  patchResponse,
  patchResponseBody,
  rename,
  respondWith,
  withBody,
  withHeader,
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
  isJson(response) ? withHeader(response, "content-type", "application/vnd.apps+json") : response;

/** Reverses lists, of 100 apps at most. */
const newestFirst = on("GET /apps", async (request, send) => {
  const query = new URLSearchParams(request.url.split("?")[1]);
  const [limit, offset] = [Number(query.get("limit") ?? 20), Number(query.get("offset"))];
  query.delete("offset");
  query.set("limit", "100");
  return withBody(await send({ ...request, url: `/v1/apps?${query}` }), "data", (apps) =>
    [apps]
      .flat()
      .toReversed()
      .slice(offset, offset + limit),
  );
});

/** Removes the body of successful responses. */
const empty = (response: ProxyResponse): ProxyResponse =>
  response.status < 300 ? { ...response, status: 204, body: "" } : response;
const emptyError = (response: ProxyResponse): ProxyResponse =>
  response.status < 400 ? response : emptyObject(response.status);
const inSeconds = compose(
  patchResponse("", (response) => ({ ...response, body: asOffset(response.body) })),
  patchRequest(EVENT, (event) => ({ ...event, body: asOffset(event.body) })),
);

/** Repeats one of every `outOf` deliveries after its response. */
function sentTwice(outOf = 1): Patch {
  let count = 0;
  return on(EVENT, async (event, send) => {
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
  "list-of-apps 4.list-shape: a list is {apps, limit, offset, count}": compose(
    patchResponseBody("GET /apps", "", rename("data", "apps")),
    patchResponseBody("GET /apps", "", rename("total", "count")),
  ),
  "newest-first 4.list-order: the newest app is listed first": newestFirst,
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
    "",
  ),
  "json-of-its-own 4.media-type: it speaks application/vnd.apps+json": patchResponse(
    "",
    inTypeOfItsOwn,
  ),
  "more-members 2.members: apps and events have more members": compose(
    patchApps("owner", null),
    patchRequestBody(EVENT, "api_version", "1"),
  ),
  "camel-tokens 5.token-response: tokens have other names": compose(
    patchResponseBody("POST /oauth/token", "", rename("access_token", "accessToken")),
    patchResponseBody("POST /oauth/token", "", rename("refresh_token", "refreshToken")),
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
  "twice-at-once 6.at-least-once: each event is sent twice at the same time": on(
    EVENT,
    async (event, send) => {
      const [response] = await Promise.all([send(event), send(event)]);
      return response;
    },
  ),
  "twice-sometimes 6.at-least-once: every third delivery is sent twice": sentTwice(3),
  "twice-never-again 6.retry: each event is sent twice, and nothing is sent again": compose(
    patchResponse(EVENT, (response) => ({ ...response, status: 200 })),
    sentTwice(),
  ),
  "never-again 6.retry: nothing is sent again": patchResponse(EVENT, (response) => ({
    ...response,
    status: 200,
  })),
};
