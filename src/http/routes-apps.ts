// The rows for apps, their deployments and interactions.
import { decide } from "../decisions.ts";
import * as apps from "../domain/apps.ts";
import * as deployments from "../domain/deployments.ts";
import { listQuery, spanParameters } from "../domain/lists.ts";
import { flag, fromText, object, optional } from "../kit/schema.ts";
import { created, one, page } from "./answers.ts";
import { reading, removing, SCOPE, target } from "./resource.ts";
import { chosen, type Operation, route } from "./route.ts";
import { appView, deploymentView, eventView } from "./views.ts";

const app = target("/apps/{app_id}", appView, apps.getApp);
const appsQuery = object({ ...spanParameters, public: optional(fromText(flag)) });

/** The event is recorded; what receivers make of it is still to come. */
const INTERACTION_STATUS = 202;

const shown: readonly Operation[] = [
  route("POST /apps", SCOPE.writeApps, "createApp", "Create an app", {
    spec: "4.create-app",
    body: apps.appDraft,
    example: { title: "Sales overview", description: "Revenue by region", theme: "light", public: false },
    run: ({ unit, caller, body }) => apps.createApp(unit, caller, body),
    answer: created(appView),
  }),
  route("GET /apps", SCOPE.readApps, "listApps", "List apps", {
    spec: "4.list-apps",
    query: appsQuery,
    run: ({ unit, caller, query: { public: shared, ...span } }) => apps.listApps(unit.store, caller, shared, span),
    answer: page(appView),
  }),
  removing(app, [SCOPE.deleteApps, "deleteApp", "Delete an app with its deployments"], apps.removeApp, {
    spec: "4.delete-app",
  }),
  route("POST /apps/{app_id}/deploy", SCOPE.writeApps, "deployApp", "Deploy an app to an environment", {
    spec: "4.deploy",
    refusals: ["domain_taken"],
    target: app,
    body: deployments.deployRequest,
    example: { name: "Release 1", custom_domain: "sales.example.com", environment: "production" },
    run: ({ unit, caller, params, body, services }) =>
      deployments.deploy(unit, caller, params.app_id, body, services.links),
    answer: created(deploymentView, ({ app_id }) => `/apps/${app_id}/deployments`),
  }),
];

const beyond = chosen("4.app-endpoints", [
  reading(app, SCOPE.readApps, "getApp", "Read an app"),
  route(`${decide("4.app-endpoints")} /apps/{app_id}`, SCOPE.writeApps, "updateApp", "Change an app", {
    target: app,
    body: apps.appChanges,
    example: { title: "Sales overview 2026" },
    run: ({ unit, caller, params, body, expect }) => apps.changeApp(unit, caller, params.app_id, body, expect),
    answer: one(appView),
  }),
  route("GET /apps/{app_id}/deployments", SCOPE.readApps, "listDeployments", "List the deployments of an app", {
    query: listQuery,
    target: app,
    run: ({ unit, params, query }) => deployments.listDeployments(unit.store, params.app_id, query),
    answer: page(deploymentView),
  }),
  route("GET /apps/{app_id}/deployments/{deployment_id}", SCOPE.readApps, "getDeployment", "Read a deployment", {
    run: ({ unit, caller, params }) =>
      deployments.getDeployment(unit.store, caller, params.app_id, params.deployment_id),
    answer: one(deploymentView),
  }),
  route("POST /apps/{app_id}/interactions", SCOPE.writeApps, "reportInteraction", "Report that a user used an app", {
    target: app,
    body: apps.interaction,
    example: {
      ...{ user_id: "visitor-17", interaction_type: "chart_click", chart_id: "revenue" },
      data_point: { x: "2026-03", y: 48_250, category: "North" },
    },
    run: ({ unit, caller, params, body }) => apps.interact(unit, caller, params.app_id, body),
    answer: one(eventView, INTERACTION_STATUS),
  }),
]);

export const appRoutes: readonly Operation[] = [...shown, ...beyond];
