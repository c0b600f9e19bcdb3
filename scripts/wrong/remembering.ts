// Ways of a fault that depend on what went by before.

import { trusted } from "../../src/kit/schema.ts";
import { isMembers } from "../../test/support/client.ts";
import type { Answer, Delivery } from "./proxy.ts";
import { bare, changed, field, type Items, isAt, itemsOf, jsonOf, queryOf, type Way, type Wrong } from "./ways.ts";

const CREATE = "POST /apps";
const LIST = "GET /apps";
const idIn = (text: string) => /app_\w+/.exec(text)?.[0] ?? "";
const listing = (answer: Answer, change: (items: Items) => Items): Answer =>
  changed(answer, (list) => ({ ...list, data: change(itemsOf(list)) }));

/** What was sent or answered as `name` the first time stands for what came later. */
export const firstAsked = (at: string, name: string): Wrong => ({
  api: (asked, send, { kept }) => send(isAt(at, asked) ? changed(asked, field(name, first(kept))) : asked),
});
export const firstAnswered = (at: string, name: string): Wrong => ({
  async api(asked, send, { kept }) {
    const answer = await send(asked);
    return isAt(at, asked) ? changed(answer, field(name, first(kept))) : answer;
  },
});
const first = (kept: Map<string, string>) => (value: unknown) => {
  if (typeof value === "string" && kept.size === 0) kept.set("first", value);
  return kept.get("first") ?? value;
};

/** Apps are known by numbers. */
export const numbered: Way = async (asked, send, { kept }) => {
  const ids = [...kept.keys()];
  const url = asked.url.replace(/(?<=\/apps\/)\d+/, (number) => ids[Number(number) - 1] ?? number);
  const answer = await send({ ...asked, url });
  const body = answer.body.replaceAll(/"(app_\w+)"/g, (_, id) => {
    if (!kept.has(id)) kept.set(id, String(kept.size + 1));
    return String(kept.get(id));
  });
  return { ...answer, body };
};

/** The id that a client sends is taken for the app's from then on. */
export const givenId: Way = async (asked, send, { kept }) => {
  const sent = isAt(CREATE, asked) ? jsonOf(asked) : undefined;
  const given = isMembers(sent) && typeof sent.id === "string" ? sent.id : undefined;
  const body = given === undefined ? asked.body : JSON.stringify({ ...Object(sent), id: undefined });
  const url = asked.url.replace(/(?<=\/apps\/)[^/]+/, (id) => kept.get(id) ?? id);
  const answer = await send({ ...asked, url, body });
  if (given !== undefined) kept.set(given, idIn(answer.body));
  const shown = [...kept].reduce((text, [other, id]) => (id ? text.replaceAll(id, other) : text), answer.body);
  return { ...answer, body: shown };
};

export const stale: Way = async (asked, send, { kept }) => {
  if (!isAt(LIST, asked)) return send(asked);
  const name = `${asked.headers.authorization} ${asked.url}`;
  const known = kept.get(name);
  if (known !== undefined) return trusted<Answer>(JSON.parse(known));
  const answer = await send(asked);
  if (answer.status < 300) kept.set(name, JSON.stringify(answer));
  return answer;
};

/** The app that was made last is not there yet. */
export const late: Way = async (asked, send, { kept }) => {
  const answer = await send(asked);
  if (isAt(CREATE, asked)) kept.set("last", idIn(answer.body));
  return isAt(LIST, asked) ? listing(answer, (data) => data.filter(({ id }) => id !== kept.get("last"))) : answer;
};

export const undeleted: Way = async (asked, send, { kept }) => {
  if (isAt("DELETE /apps/*", asked)) {
    const { status, body } = await send({ ...asked, method: "GET", body: "" });
    if (status === 200) kept.set(asked.url, body);
  }
  const answer = await send(asked);
  const gone = [...kept.values()].map((body) => Object(JSON.parse(body)));
  return isAt(LIST, asked) ? listing(answer, (data) => [...data, ...gone]) : answer;
};

/** Whichever app is named, the newest is meant. */
export const newest = (at: string): Wrong => ({
  async api(asked, send, { kept }) {
    const last = kept.get("last");
    const url = isAt(at, asked) && last ? asked.url.replace(/app_\w+/, last) : asked.url;
    const answer = await send({ ...asked, url });
    if (isAt(CREATE, asked)) kept.set("last", idIn(answer.body));
    return answer;
  },
});

/** Another text stands for each access token. */
export const opaque: Way = async (asked, send, { kept }) => {
  const { authorization = "" } = asked.headers;
  const known = kept.get(authorization.replace(/^Bearer /, ""));
  const headers = known === undefined ? asked.headers : { ...asked.headers, authorization: `Bearer ${known}` };
  const answer = await send({ ...asked, headers });
  return isAt("POST /oauth/token", asked)
    ? changed(answer, (tokens) => {
        if (typeof tokens.access_token !== "string") return tokens;
        const access_token = `opaque${kept.size}${"0".repeat(20)}`;
        kept.set(access_token, tokens.access_token);
        return { ...tokens, access_token };
      })
    : answer;
};

/** The list from its other end. */
export const newestFirst: Way = async (asked, send) => {
  if (!isAt(LIST, asked)) return send(asked);
  const query = queryOf(asked.url);
  const [limit, offset] = [Number(query.get("limit") ?? 20), Number(query.get("offset") ?? 0)];
  const part = (from: number, to: number) => {
    const span = new URLSearchParams([...query, ["limit", String(to - from || 1)], ["offset", String(from)]]);
    return send({ ...asked, url: `/v1/apps?${span}` });
  };
  for (const name of ["limit", "offset"]) query.delete(name);
  const { total = 0 } = Object(jsonOf(await part(0, 1)));
  const [from, to] = [Math.max(total - offset - limit, 0), Math.max(total - offset, 0)];
  return listing(await part(from, to), (data) => (to > from ? data.toReversed() : []));
};

/** A refresh that fails for a reason of that wording is answered as the last one that did not. */
export const refreshes = (reason: RegExp): Wrong => ({
  async api(asked, send, { kept }) {
    const answer = await send(asked);
    if (!isAt("POST /oauth/token", asked)) return answer;
    if (answer.status === 200) kept.set("tokens", answer.body);
    const isMeant = asked.body.includes("refresh_token") && answer.status >= 400 && reason.test(answer.body);
    return isMeant ? bare(200, kept.get("tokens")) : answer;
  },
});

/** What a refresh yields opens nothing. */
export const deadTokens: Way = async (asked, send, { kept }) => {
  const token = String(asked.headers.authorization).replace(/^Bearer /, "");
  if (kept.has(token)) return bare(401);
  const answer = await send(asked);
  const isRefresh = isAt("POST /oauth/token", asked) && /grant_type\W+refresh_token/.test(asked.body);
  if (isRefresh) kept.set(String(Object(jsonOf(answer)).access_token), "");
  return answer;
};

/** Of several webhooks that want an event one gets it. */
export const oneWebhook: Way<Delivery> = async (delivery, send, { kept }) => {
  const { id } = Object(jsonOf(delivery));
  const served = kept.get(id) ?? delivery.url;
  kept.set(id, served);
  return served === delivery.url ? send(delivery) : bare(200);
};
