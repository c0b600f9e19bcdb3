// Realistic payloads for test deliveries (contract, part 6): one for each event type, in exactly the form that a real
// event has. Their ids are new and belong to nothing.
import type { EventType } from "./model.ts";
import type { Work } from "./work.ts";

/** `data.object` of a sample event of the type. */
export function sampleObject({ ids, at }: Pick<Work, "ids" | "at">, type: EventType): object {
  const [id, title] = [ids.next("app_"), "Sales overview"];
  const times = { created_at: at, updated_at: at };
  switch (type) {
    case "app.created":
    case "app.updated":
    case "app.deleted":
      return { id, title, description: "Revenue by region and month", theme: "light", public: false, ...times };
    case "app.deployed": {
      const deployed = ids.next("dep_");
      const url = `https://sales.example.com/sites/${deployed}/`;
      return { id, title, deployment: { id: deployed, url, status: "live", deployed_at: at } };
    }
    case "data.processed": {
      const columns = [
        { name: "region", type: "string" },
        { name: "revenue", type: "number" },
        { name: "ordered_at", type: "datetime" },
      ];
      const source = { id: ids.next("ds_"), name: "Orders", type: "csv", app_id: null };
      return { ...source, status: "ready", columns, row_count: 1_284, error: null, ...times };
    }
    case "user.interaction": {
      const data_point = { x: "2026-03", y: 48_250, category: "North" };
      const what = { interaction_type: "chart_click", chart_id: "revenue-by-month", data_point };
      return { app_id: id, user_id: ids.next("usr_"), ...what };
    }
  }
}
