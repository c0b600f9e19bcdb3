// The rows for apps, their deployments and interactions.
import * as apps from "../domain/apps.ts";
import * as deployments from "../domain/deployments.ts";
import { listQuery } from "../domain/lists.ts";
import { CREATED, resource, SCOPE } from "./resource.ts";
import { chosen, route } from "./route.ts";
import { page } from "./view.ts";
import { appView, deploymentView, eventView } from "./views.ts";

/** The event is recorded; what receivers make of it is still to come. */
const INTERACTION_STATUS = 202;

const { get: app, rows } = resource({
  path: "/apps/{app_id}",
  noun: "App",
  words: ["an app", "apps", "an app with its deployments"],
  scopes: [SCOPE.readApps, SCOPE.writeApps, SCOPE.deleteApps],
  view: appView,
  owned: apps.own,
  create: {
    spec: "4.create-app",
    body: apps.appDraft,
    example: { title: "Sales overview", description: "Revenue by region", theme: "light", public: false },
  },
  list: { spec: "4.list-apps", query: apps.appQuery },
  update: { body: apps.appChanges, example: { title: "Sales overview 2026" } },
  remove: { spec: "4.delete-app" },
});

export const appRoutes = chosen("4.app-endpoints", [
  ...rows,
  route("POST /apps/{app_id}/deploy", SCOPE.writeApps, "deployApp", "Deploy an app to an environment", {
    spec: "4.deploy",
    refusals: ["domain_taken"],
    target: app,
    body: deployments.deployRequest,
    example: { name: "Release 1", custom_domain: "sales.example.com", environment: "production" },
    status: CREATED,
    view: deploymentView,
    location: ({ app_id, id }) => `/apps/${app_id}/deployments/${id}`,
    run: ({ unit, caller, params, body, services }) =>
      deployments.deploy(unit, caller, params.app_id, body, services.links),
  }),
  route("GET /apps/{app_id}/deployments", SCOPE.readApps, "listDeployments", "List the deployments of an app", {
    target: app,
    query: listQuery,
    view: page(deploymentView),
    run: ({ unit, params, query }) => deployments.listDeployments(unit.store, params.app_id, query),
  }),
  route("GET /apps/{app_id}/deployments/{deployment_id}", SCOPE.readApps, "getDeployment", "Read a deployment", {
    view: deploymentView,
    run: ({ unit, caller, params }) =>
      deployments.getDeployment(unit.store, caller, params.app_id, params.deployment_id),
  }),
  route("POST /apps/{app_id}/interactions", SCOPE.writeApps, "reportInteraction", "Report that a user used an app", {
    target: app,
    body: apps.interaction,
    example: {
      ...{ user_id: "visitor-17", interaction_type: "chart_click", chart_id: "revenue" },
      data_point: { x: "2026-03", y: 48_250, category: "North" },
    },
    status: INTERACTION_STATUS,
    view: eventView,
    run: ({ unit, caller, params, body }) => apps.interact(unit, caller, params.app_id, body),
  }),
]);
