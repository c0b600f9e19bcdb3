// The rows for apps, their deployments and interactions.
import { decide } from "../decisions.ts";
import * as apps from "../domain/apps.ts";
import * as interactions from "../domain/apps.ts";
import * as deployments from "../domain/deployments.ts";
import { listQuery, spanParameters } from "../domain/lists.ts";
import type { AppRecord } from "../domain/model.ts";
import { flag, fromText, object, optional } from "../kit/schema.ts";
import { created, nothing, one, page } from "./answers.ts";
import { type Base, chosen, type Row, route, type Target } from "./route.ts";
import { SCOPE } from "./scopes.ts";
import { appView, deploymentView, eventView } from "./views.ts";

type AppPath = "/apps/{app_id}";

const find = ({ unit, caller, params }: Base<AppPath>) => apps.getApp(unit.store, caller, params.app_id);
const theApp: Target<AppPath, AppRecord> = { view: appView, find };

const appsQuery = object({ ...spanParameters, public: optional(fromText(flag)) });

/** The event is recorded; what receivers make of it is still to come. */
const INTERACTION_STATUS = 202;

const shown: readonly Row[] = [
  route({
    spec: "4.create-app",
    method: "POST",
    path: "/apps",
    scope: SCOPE.writeApps,
    operation: "createApp",
    summary: "Create an app",
    body: apps.appDraft,
    example: { title: "Sales overview", description: "Revenue by region", theme: "light", public: false },
    run: ({ unit, caller, body }) => apps.createApp(unit, caller, body),
    answer: created(appView),
  }),
  route({
    spec: "4.list-apps",
    method: "GET",
    path: "/apps",
    scope: SCOPE.readApps,
    operation: "listApps",
    summary: "List apps",
    query: appsQuery,
    run: ({ unit, caller, query: { public: shared, ...span } }) => apps.listApps(unit.store, caller, shared, span),
    answer: page(appView),
  }),
  route({
    spec: "4.delete-app",
    method: "DELETE",
    path: "/apps/{app_id}",
    scope: SCOPE.deleteApps,
    operation: "deleteApp",
    summary: "Delete an app with its deployments",
    target: theApp,
    run: ({ unit, caller, params, expect }) => apps.removeApp(unit, caller, params.app_id, expect),
    answer: nothing,
  }),
  route({
    spec: "4.deploy",
    method: "POST",
    path: "/apps/{app_id}/deploy",
    scope: SCOPE.writeApps,
    operation: "deployApp",
    summary: "Deploy an app to an environment",
    refusals: ["domain_taken"],
    target: theApp,
    body: deployments.deployRequest,
    example: { name: "Release 1", custom_domain: "sales.example.com", environment: "production" },
    run: ({ unit, caller, params, body, services }) =>
      deployments.deploy(unit, caller, params.app_id, body, services.links),
    answer: created(deploymentView, ({ app_id }) => `/apps/${app_id}/deployments`),
  }),
];

const beyond = chosen("4.app-endpoints", [
  route({
    method: "GET",
    path: "/apps/{app_id}",
    scope: SCOPE.readApps,
    operation: "getApp",
    summary: "Read an app",
    run: find,
    answer: one(appView),
  }),
  route({
    method: decide("4.app-endpoints"),
    path: "/apps/{app_id}",
    scope: SCOPE.writeApps,
    operation: "updateApp",
    summary: "Change an app",
    target: theApp,
    body: apps.appChanges,
    example: { title: "Sales overview 2026" },
    run: ({ unit, caller, params, body, expect }) => apps.changeApp(unit, caller, params.app_id, body, expect),
    answer: one(appView),
  }),
  route({
    method: "GET",
    path: "/apps/{app_id}/deployments",
    scope: SCOPE.readApps,
    operation: "listDeployments",
    summary: "List the deployments of an app",
    query: listQuery,
    target: theApp,
    run: ({ unit, params, query }) => deployments.listDeployments(unit.store, params.app_id, query),
    answer: page(deploymentView),
  }),
  route({
    method: "GET",
    path: "/apps/{app_id}/deployments/{deployment_id}",
    scope: SCOPE.readApps,
    operation: "getDeployment",
    summary: "Read a deployment",
    run: ({ unit, caller, params }) =>
      deployments.getDeployment(unit.store, caller, params.app_id, params.deployment_id),
    answer: one(deploymentView),
  }),
  route({
    method: "POST",
    path: "/apps/{app_id}/interactions",
    scope: SCOPE.writeApps,
    operation: "reportInteraction",
    summary: "Report that a user interacted with an app",
    target: theApp,
    body: interactions.interaction,
    example: {
      user_id: "visitor-17",
      interaction_type: "chart_click",
      chart_id: "revenue",
      data_point: { x: "2026-03", y: 48_250, category: "North" },
    },
    run: ({ unit, caller, params, body }) => interactions.interact(unit, caller, params.app_id, body),
    answer: one(eventView, INTERACTION_STATUS),
  }),
]);

export const appRoutes: readonly Row[] = [...shown, ...beyond];
