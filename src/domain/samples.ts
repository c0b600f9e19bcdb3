// Realistic payloads for test deliveries (contract, part 6): one for each event type, in exactly the form that a real
// event has. Their ids are new and belong to nothing.
import { type EventType, PREFIX } from "./model.ts";
import type { Work } from "./work.ts";

/** What a sample is made with. */
export type SampleParts = Pick<Work, "ids" | "at">;

/** `data.object` of a sample event of the type. */
export function sampleObject(w: SampleParts, type: EventType): object {
  switch (type) {
    case "app.created":
    case "app.updated":
    case "app.deleted":
      return sampleApp(w);
    case "app.deployed":
      return sampleDeployment(w);
    case "data.processed":
      return sampleDataSource(w);
    case "user.interaction":
      return sampleInteraction(w);
  }
}

const sampleApp = (w: SampleParts) => ({
  id: w.ids.next("app_"),
  title: "Sales overview",
  description: "Revenue by region and month",
  theme: "light",
  public: false,
  created_at: w.at,
  updated_at: w.at,
});

function sampleDeployment(w: SampleParts) {
  const { id, title } = sampleApp(w);
  const deploymentId = w.ids.next("dep_");
  const url = `https://sales.example.com/sites/${deploymentId}/`;
  return { id, title, deployment: { id: deploymentId, url, status: "live", deployed_at: w.at } };
}

const sampleDataSource = (w: SampleParts) => ({
  id: w.ids.next(PREFIX.dataSource),
  name: "Orders",
  type: "csv",
  app_id: null,
  status: "ready",
  columns: [
    { name: "region", type: "string" },
    { name: "revenue", type: "number" },
    { name: "ordered_at", type: "datetime" },
  ],
  row_count: 1_284,
  error: null,
  created_at: w.at,
  updated_at: w.at,
});

const sampleInteraction = (w: SampleParts) => ({
  app_id: w.ids.next("app_"),
  user_id: w.ids.next(PREFIX.user),
  interaction_type: "chart_click",
  chart_id: "revenue-by-month",
  data_point: { x: "2026-03", y: 48_250, category: "North" },
});
