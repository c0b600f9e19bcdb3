// How the resources go out that are more than made, read, changed and removed, or are not shown as they are kept.
import * as model from "../domain/model.ts";
import { type View, view } from "./view.ts";

export const deploymentView = view<model.DeploymentRecord>("Deployment", model.deployment, (record, links) => ({
  ...record,
  url: links.site(record.id),
}));
export const deliveryView = view<model.DeliveryRecord>("Delivery", model.delivery);
export const accountView = view<model.AccountRecord>("Account", model.account);

export const eventView: View<model.EventRecord> = {
  ...view("Event", model.envelope),
  text: ({ body }) => body,
};

export const rowView: View<{ readonly [column: string]: unknown }> = {
  kind: "one",
  name: "Row",
  json: { type: "object", additionalProperties: { type: ["string", "number", "boolean", "null"] } },
  text: (row) => JSON.stringify(row),
};
