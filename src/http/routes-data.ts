// The rows for data sources (spec part 4 shows POST /data-sources only; contract, part 4).
import * as data from "../domain/data-sources.ts";
import { listQuery } from "../domain/lists.ts";
import type { DataSourceRecord } from "../domain/model.ts";
import { created, nothing, one, page } from "./answers.ts";
import { DATA_BODY_BYTES } from "./body.ts";
import { type Base, chosen, type Row, route, type Target } from "./route.ts";
import { SCOPE } from "./scopes.ts";
import { dataSourceView, rowView } from "./views.ts";

type DataPath = "/data-sources/{data_source_id}";

const find = ({ unit, caller, params }: Base<DataPath>) =>
  data.getDataSource(unit.store, caller, params.data_source_id);
const theSource: Target<DataPath, DataSourceRecord> = { view: dataSourceView, find };

const shown: readonly Row[] = [
  route({
    spec: "4.create-data-source",
    method: "POST",
    path: "/data-sources",
    scope: SCOPE.manage,
    operation: "createDataSource",
    summary: "Create a data source; its data are processed after the answer",
    bodyLimit: DATA_BODY_BYTES,
    body: data.dataSourceDraft,
    example: { name: "Orders", type: "csv", data: "region,revenue\r\nNorth,48250\r\nSouth,39100\r\n" },
    run: ({ unit, caller, body }) => data.createDataSource(unit, caller, body),
    answer: created(dataSourceView),
  }),
];

const managed = chosen("2.data-source-fields", [
  route({
    method: "GET",
    path: "/data-sources",
    scope: SCOPE.readData,
    operation: "listDataSources",
    summary: "List data sources",
    query: listQuery,
    run: ({ unit, caller, query }) => data.listDataSources(unit.store, caller, query),
    answer: page(dataSourceView),
  }),
  route({
    method: "GET",
    path: "/data-sources/{data_source_id}",
    scope: SCOPE.readData,
    operation: "getDataSource",
    summary: "Read a data source",
    run: find,
    answer: one(dataSourceView),
  }),
  route({
    method: "DELETE",
    path: "/data-sources/{data_source_id}",
    scope: SCOPE.manage,
    operation: "deleteDataSource",
    summary: "Remove a data source with its rows",
    target: theSource,
    run: ({ unit, caller, params, expect }) => data.removeDataSource(unit, caller, params.data_source_id, expect),
    answer: nothing,
  }),
  route({
    method: "GET",
    path: "/data-sources/{data_source_id}/rows",
    scope: SCOPE.readData,
    operation: "listRows",
    summary: "List the rows of a data source",
    query: listQuery,
    target: theSource,
    run: ({ unit, caller, params, query }) => data.rowsPage(unit.store, caller, params.data_source_id, query),
    answer: page(rowView),
  }),
]);

export const dataRoutes: readonly Row[] = [...shown, ...managed];
