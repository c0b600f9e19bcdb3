// The delivery log of a webhook, over the API.
import assert from "node:assert/strict";
import { type Client, type Members, members } from "./client.ts";
import { eventually } from "./wait.ts";

export const logOf = async (api: Client, webhook: Members, query = ""): Promise<readonly Members[]> =>
  (await api.get(`/webhooks/${webhook.id}/deliveries${query}`)).items;

export const attemptsOf = (delivery: Members | undefined): readonly Members[] => {
  assert.ok(Array.isArray(delivery?.attempts));
  return delivery.attempts.map(members);
};

/** The webhook's first delivery that is as it should be. */
export const delivery = (api: Client, webhook: Members, is: (each: Members) => boolean): Promise<Members> =>
  eventually(async () => (await logOf(api, webhook)).find(is));
export const settled = (api: Client, webhook: Members) => delivery(api, webhook, ({ status }) => status !== "pending");
export const attempted = (api: Client, webhook: Members) =>
  delivery(api, webhook, (each) => attemptsOf(each).length > 0);
