// The rows for data sources (spec part 4 shows POST /data-sources only; contract, part 4).
import * as data from "../domain/data-sources.ts";
import { listQuery } from "../domain/lists.ts";
import { created, page } from "./answers.ts";
import { DATA_BODY_BYTES } from "./input.ts";
import { listing, reading, removing, SCOPE, target } from "./resource.ts";
import { chosen, type Operation, route } from "./route.ts";
import { dataSourceView, rowView } from "./views.ts";

const source = target("/data-sources/{data_source_id}", dataSourceView, data.getDataSource);

export const dataRoutes: readonly Operation[] = [
  route("POST /data-sources", SCOPE.manage, "createDataSource", "Create a data source; it is processed afterwards", {
    spec: "4.create-data-source",
    bodyLimit: DATA_BODY_BYTES,
    body: data.dataSourceDraft,
    example: { name: "Orders", type: "csv", data: "region,revenue\r\nNorth,48250\r\nSouth,39100\r\n" },
    run: ({ unit, caller, body }) => data.createDataSource(unit, caller, body),
    answer: created(dataSourceView),
  }),
  ...chosen("2.data-source-fields", [
    listing(
      "/data-sources",
      [SCOPE.readData, "listDataSources", "List data sources"],
      dataSourceView,
      data.listDataSources,
    ),
    reading(source, SCOPE.readData, "getDataSource", "Read a data source"),
    removing(source, [SCOPE.manage, "deleteDataSource", "Remove a data source with its rows"], data.removeDataSource),
    route("GET /data-sources/{data_source_id}/rows", SCOPE.readData, "listRows", "List the rows of a data source", {
      query: listQuery,
      target: source,
      run: ({ unit, caller, params, query }) => data.rowsPage(unit.store, caller, params.data_source_id, query),
      answer: page(rowView),
    }),
  ]),
];
