// The rows for data sources (spec part 4 shows POST /data-sources only; contract, part 4).
import * as data from "../domain/data-sources.ts";
import { listQuery } from "../domain/lists.ts";
import { DATA_BODY_BYTES } from "./input.ts";
import { resource, SCOPE } from "./resource.ts";
import { chosen, route } from "./route.ts";
import { page } from "./view.ts";
import { dataSourceView, rowView } from "./views.ts";

const { get: source, rows } = resource({
  path: "/data-sources/{data_source_id}",
  noun: "DataSource",
  words: ["a data source", "data sources", "a data source with its rows"],
  scopes: [SCOPE.readData, SCOPE.manage, SCOPE.manage],
  view: dataSourceView,
  owned: data.own,
  create: {
    spec: "4.create-data-source",
    bodyLimit: DATA_BODY_BYTES,
    body: data.dataSourceDraft,
    example: { name: "Orders", type: "csv", data: "region,revenue\r\nNorth,48250\r\nSouth,39100\r\n" },
  },
});

export const dataRoutes = chosen("2.data-source-fields", [
  ...rows,
  route("GET /data-sources/{data_source_id}/rows", SCOPE.readData, "listRows", "List the rows of a data source", {
    target: source,
    query: listQuery,
    view: page(rowView),
    run: ({ unit, caller, params, query }) => data.rowsPage(unit.store, caller, params.data_source_id, query),
  }),
]);
