// What the specification says that it does not show, gap by gap, in our own words, and the decisions that answer it: for
// readers of the specification, who know its parts and not our ids. test/house fails where an answer is no decision that
// the server runs on.
import { type Html, html } from "../html.ts";

export interface Gap {
  /** The part of the specification that leaves it open. */
  readonly part: number;
  readonly open: string;
  readonly answers: readonly string[];
}

const gap = (part: number, open: string, ...answers: string[]): Gap => ({ part, open, answers });

export const SPEC_GAPS: readonly Gap[] = [
  gap(2, "the themes that an app may have", "2.app-theme-default", "2.themes-drawn"),
  gap(2, "the environments that may be deployed to", "2.default-environment", "2.deploy-request"),
  gap(2, "what a webhook looks like when it is read, its identifier too", "2.webhook-fields", "2.id-prefixes"),
  gap(2, "the fields of a data source", "2.data-source-fields", "2.data-source-request", "2.id-prefixes"),
  gap(2, "the fields of a user", "2.user-fields", "2.user-permissions", "2.id-prefixes"),

  gap(3, "the deployment statuses beside live", "3.redeploy"),
  gap(3, "the transitions", "3.redeploy", "3.custom-domain", "3.retired-site", "3.data-source-first-status"),

  gap(
    4,
    "which fields of a new app are required",
    "2.app-fields",
    "2.app-description-default",
    "2.app-theme-default",
    "2.app-public-default",
  ),
  gap(4, "the form of a list of apps, and its total", "4.list-shape", "4.link"),
  gap(4, "what deleting an app answers", "4.delete-response"),
  gap(
    4,
    "what a deploy requires and answers",
    "2.deploy-request",
    "2.custom-domain",
    "4.create-status",
    "2.deployment-fields",
  ),
  gap(
    4,
    "what creating a data source takes and answers",
    "2.data-source-request",
    "4.create-status",
    "2.data-source-fields",
    "3.data-source-first-status",
  ),
  gap(4, "how users and their permissions are managed", "4.user-area", "2.user-permissions"),
  gap(
    4,
    "what registering a webhook answers, and how it is read, changed and removed",
    "4.create-status",
    "2.webhook-fields",
    "2.webhook-secret",
    "4.webhook-endpoints",
  ),
  gap(4, "how one app is read or changed", "4.app-endpoints"),

  gap(5, "the form of the token answer", "5.token-response", "5.oauth-errors"),
  gap(5, "how long tokens last", "5.access-token-lifetime", "5.refresh-token-lifetime", "5.code-lifetime"),
  gap(5, "the scope that each endpoint takes", "5.scope-per-endpoint"),

  gap(6, "which operation emits which event", "6.emitted-by"),
  gap(6, "which events name the account, beyond the two examples", "6.events-without-account"),
  gap(6, "what app.created, app.updated, app.deleted and data.processed contain", "6.event-objects"),
  gap(6, "when and how often a delivery is tried again", "6.retry-schedule", "6.retry-jitter", "6.retry-after-max"),
  gap(6, "in which order events arrive", "6.webhook-concurrency", "6.send-order"),

  gap(7, "the form of an error's body", "7.error-body"),
  gap(7, "the error codes", "7.error-codes"),
  gap(7, "the statuses beside 401 and 403, for wrong input and for what is not there", "7.error-codes", "4.tenants"),

  gap(8, "how many requests the rate limit allows", "8.rate-limit", "8.rate-window"),
  gap(8, "the headers that report the rate limit", "8.rate-headers"),
  gap(8, "the largest limit of a list", "8.max-limit"),
  gap(8, "how large bodies may be", "8.body-size", "8.data-body-size", "8.json-nesting", "8.request-limits"),
  gap(8, "how long fields may be", "2.app-fields", "2.deploy-request", "2.data-source-request", "2.webhook-url-length"),

  gap(9, "how and how long before something ends", "9.deprecation"),
  gap(9, "how further versions are announced", "9.deprecation", "9.other-versions"),
];

export const gapsSection = (): Html => html`<h3 id="gaps">What the specification does not show</h3>
<dl class="card entries">${SPEC_GAPS.map(({ part, open, answers }) => html`<div><dt><code>part ${part}</code>${open}</dt><dd>${answers.map(link)}</dd></div>\n`)}</dl>`;

const link = (id: string): Html => html`<a href="#decision-${id}">${id}</a> `;
