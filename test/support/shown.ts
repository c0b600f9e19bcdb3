// The operations that the specification shows, as every implementation has to take them: all the fields that it shows are
// sent, and of an answer no more is read than it shows. Where it leaves a form open (a list may be bare or wrapped, the
// statuses of success are not named), any will do. Events are seen where they arrive: at a receiver of the test's own.
import assert from "node:assert/strict";
import type { EventEnvelope } from "../../src/domain/model.ts";
import { type Receiver, type ReceiverAnswer, startReceiver } from "../../src/receiver.ts";
import { type Answer, type Client, type Members, members, str } from "./client.ts";
import { closeLater } from "./closing.ts";
import { freshHost } from "./fresh.ts";

export const APP = { title: "Sales", description: "By region", theme: "light", public: true } as const;
export const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
export const SECRET = "geheim-ü-🔑";

/** The operation succeeded. */
export function done(answer: Answer): Answer {
  assert.ok(answer.status >= 200 && answer.status < 300, `${answer.status} ${answer.text}`);
  return answer;
}

export async function newApp(api: Client, fields: object = {}): Promise<Members & { readonly id: string }> {
  const answer = done(await api.post("/apps", { ...APP, ...fields }));
  return { ...answer.json, id: answer.id };
}

/** The apps of one page, whatever they are wrapped in. */
export async function appsIn(api: Client, query = ""): Promise<readonly Members[]> {
  const { value } = done(await api.get(`/apps${query}`));
  const list = Array.isArray(value) ? value : Object.values(members(value)).find(Array.isArray);
  assert.ok(Array.isArray(list), JSON.stringify(value));
  return list.map(members);
}

/** The ids of all apps that match, page by page. */
export async function allApps(api: Client, filter = ""): Promise<readonly string[]> {
  const found: string[] = [];
  for (;;) {
    const page = await appsIn(api, `?limit=20&offset=${found.length}${filter}`);
    if (page.length === 0) return found;
    found.push(...page.map(({ id }) => str(id)));
  }
}

/** The account has so many apps, or more. */
export async function fillUp(api: Client, count: number): Promise<void> {
  for (let there = (await allApps(api)).length; there < count; there += 1)
    await newApp(api, { public: there % 3 === 0 });
}

export const deploy = async (api: Client, app: string, fields: object = {}): Promise<Answer> =>
  done(
    await api.post(`/apps/${app}/deploy`, {
      name: "Release 1",
      custom_domain: freshHost(),
      environment: "production",
      ...fields,
    }),
  );

/** A receiver, and the answer to a webhook that leads there; what is not signed with its secret is refused there. */
export async function hooked(
  api: Client,
  events: readonly string[],
  fields: object = {},
  answers: readonly ReceiverAnswer[] = [200],
): Promise<Receiver & { readonly webhook: Members }> {
  const webhook = { events, secret: SECRET, active: true, ...fields };
  const receiver = await startReceiver({ ...webhook, answers });
  closeLater(() => receiver.close());
  return { ...receiver, webhook: done(await api.post("/webhooks", { ...webhook, url: receiver.url })).json };
}

/** Deploys a new app; answers the app, the event that arrives and the deployment that it embeds. */
export async function deployed(
  api: Client,
): Promise<{ readonly app: Members; readonly event: EventEnvelope; readonly deployment: Members }> {
  const { next } = await hooked(api, ["app.deployed"]);
  const app = await newApp(api);
  await deploy(api, app.id);
  const { event } = await next("app.deployed");
  return { app, event, deployment: members(event.data.object.deployment) };
}
