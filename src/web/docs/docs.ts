// /docs: reference pages for authors of clients, built from the server's own tables, and a tour of the specification
// with one page for each part. The pages need no sign-in; without the script only the copy buttons are missing.
import { DECISIONS, type Decision } from "../../decisions.ts";
import { SCOPE_LABELS } from "../../domain/model.ts";
import { PATHS } from "../../http/message.ts";
import { CODES, PROBLEMS } from "../../http/problem.ts";
import {
  code,
  definitionList,
  inlineCode,
  inlineMarkdown,
  link,
  list,
  muted,
  paragraph,
  tabs,
} from "../html.ts";
import type { PageRoute, WebDeps } from "../session.ts";
import { type DocsPage, type Entry, renderDocsPage } from "./page.ts";
import { curl, endpointsPage, eventsPage } from "./reference.ts";
import { PARTS, type Part } from "./tour-content.ts";

type Tabs = readonly (readonly [title: string, path: string])[];
const PAGE_TABS: Tabs = ["Start", "Tour", "Endpoints", "Events", "Errors"].map((title) => [
  title,
  title === "Start" ? PATHS.docs : `${PATHS.docs}/${title.toLowerCase()}`,
]);
const TOUR_TABS: Tabs = Object.keys(PARTS).map((title, index) => [
  `${index + 1} ${title}`,
  `${PATHS.docs}/tour/${index + 1}`,
]);

export function docsRoutes(deps: WebDeps): readonly PageRoute[] {
  const pages = [startPage, tourIndex, endpointsPage, eventsPage, errorsPage];
  const parts = Object.values(PARTS);
  return [
    ...pages.map((createPage, index) => docsRoute(PAGE_TABS, index, createPage(deps))),
    ...parts.map((part, index) => docsRoute(TOUR_TABS, index, partPage(part, index, deps))),
  ];
}

/** Creates the route of one page; `siblings` are the pages of the same level. */
function docsRoute(siblings: Tabs, index: number, content: DocsPage): PageRoute {
  const [title = "", path = ""] = siblings[index] ?? [];
  const isPart = siblings === TOUR_TABS;
  const header = [
    tabs("Docs", PAGE_TABS, isPart ? "Tour" : title),
    (isPart || title === "Tour") && tabs("Tour", TOUR_TABS, title),
  ];
  return { method: "GET", path, handler: async () => renderDocsPage(title, header, content) };
}

const CREDENTIALS =
  "Every request has the header `Authorization: Bearer` with an API key, which grants full access to the account, or an OAuth 2.0 access token, which grants what its user allowed. Generate a key in the dashboard under Settings, API Keys.";
const METADATA =
  "Libraries find the metadata of the [authorization server](/.well-known/oauth-authorization-server), also at the [address of OpenID Connect](/.well-known/openid-configuration), and of the [protected resource](/.well-known/oauth-protected-resource/v1). There are no ID tokens: `GET /account` with the access token returns the signed-in user.";
const CONVENTIONS =
  'Lists take `limit` and `offset` and return `{"data": […], "total": …, "limit": …, "offset": …}` with a `Link` to the next and the previous page. A single resource has an `ETag` for `If-Match` and `If-None-Match`. Any POST can have an `Idempotency-Key`: repeated within a day, it returns the first response.';

/** Instructions and shell commands; … stands for a value to keep from the output. */
const OAUTH_STEPS = [
  [
    "Register the client, here or in the dashboard under Settings, OAuth apps. Keep its `id` and `client_secret`.",
    'curl "$AUTH_URL/v1/oauth-clients" -H "Authorization: Bearer $API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    '  -d \'{"name":"My client","redirect_uris":["http://localhost:4700/callback"],"scopes":["read:apps"]}\'',
    "export CLIENT_ID=… CLIENT_SECRET=…",
  ],
  [
    "Send the user to this URL. After signing in and consenting, the user returns to `redirect_uri` with `code` and `state`. PKCE with S256 is supported, and required for public clients.",
    'echo "$AUTH_URL/oauth/authorize?response_type=code&client_id=$CLIENT_ID&redirect_uri=http://localhost:4700/callback&scope=read:apps&state=xyz"',
    "export CODE=…",
  ],
  [
    "Exchange the code within a minute. It works once. A JSON body is accepted as well.",
    'curl "$AUTH_URL/oauth/token" -d grant_type=authorization_code -d "client_id=$CLIENT_ID" \\',
    '  -d "client_secret=$CLIENT_SECRET" -d "code=$CODE" -d redirect_uri=http://localhost:4700/callback',
    "export ACCESS_TOKEN=… REFRESH_TOKEN=…",
  ],
  [
    "Use the access token. It is valid for an hour.",
    'curl "$AUTH_URL/v1/apps" -H "Authorization: Bearer $ACCESS_TOKEN"',
  ],
  [
    "Refresh. The response contains a new refresh token; do not use the old one again.",
    'curl "$AUTH_URL/oauth/token" -d grant_type=refresh_token -d "refresh_token=$REFRESH_TOKEN"',
  ],
  [
    "Revoke the refresh token, and with it every token of the same consent.",
    'curl "$AUTH_URL/oauth/revoke" -d "token=$REFRESH_TOKEN" -d "client_id=$CLIENT_ID" -d "client_secret=$CLIENT_SECRET"',
  ],
];

function startPage({ services: { urls } }: WebDeps): DocsPage {
  const request = curl(`POST ${urls.baseUrl}/apps`, { body: { title: "My first app" } });
  const steps = OAUTH_STEPS.map(([instruction = "", ...commands]) => [
    paragraph(instruction),
    code(commands.join("\n")),
  ]);
  return {
    lead: "This server hosts data apps. Create an app, add data, deploy it, and receive events by webhook.",
    sections: [
      {
        title: "Authentication",
        body: [
          paragraph(CREDENTIALS),
          code(`export AUTH_URL=${urls.authUrl} API_KEY=…\n${request}`),
        ],
      },
      { title: "OAuth", body: [list(steps, "ol"), muted(inlineMarkdown(METADATA))] },
      {
        title: "Scopes",
        entries: Object.entries(SCOPE_LABELS).map(([id, meaning]) => ({ id, meaning })),
      },
      { title: "Conventions", body: paragraph(CONVENTIONS) },
    ],
  };
}

/** The `type` of a problem is the URL of its entry here. */
const errorsPage = (): DocsPage => ({
  lead: "Every error has the same shape, `application/problem+json` (RFC 9457). Programs use `code`, people read `detail`. Every response has the request id in `X-Request-Id`.",
  sections: [
    {
      title: "All codes",
      entries: CODES.map((id) => {
        const [status, title, advice] = PROBLEMS[id];
        return { id, name: `${status} ${id}`, meaning: `${title}. ${advice}` };
      }),
    },
  ],
});

function decisionEntries(part: number): Entry[] {
  const decisions: readonly (readonly [string, Decision])[] = Object.entries(DECISIONS);
  return decisions
    .filter(([id]) => id.startsWith(`${part}.`))
    .map(([id, { open, choice, others, why, variant }]) => ({
      id: `decision-${id}`,
      name: id,
      term: [inlineCode(id), ` ${open}`],
      meaning: [
        paragraph(choice),
        paragraph(why),
        muted(["Elsewhere: ", inlineMarkdown(others)]),
        variant &&
          paragraph(
            `For another common behaviour, start the server with \`--variant ${variant}\`.`,
          ),
      ],
    }));
}

function tourIndex(): DocsPage {
  const parts = Object.values(PARTS).map(({ clauses }, index) => {
    const [title = "", path = ""] = TOUR_TABS[index] ?? [];
    return [link(path, title), ". ", Object.values(clauses)[0]];
  });
  return {
    lead: "The specification on nine pages, one for each part: what it says, a request to try, what it leaves open, and the tests.",
    sections: [{ title: "The parts", body: list(parts) }],
  };
}

function partPage(part: Part, index: number, { services }: WebDeps): DocsPage {
  const { clauses, request, response, exercise, steps } = part;
  const { authUrl } = services.urls;
  const command = curl(request.target.replace(" ", ` ${authUrl}`), request);
  const sentences = Object.entries(clauses).map(
    ([ids, sentence]) => [ids.split(" ").map(inlineCode), sentence] as const,
  );
  const howToTest = paragraph("`npm run clause ID` runs the test of a clause.");
  const responseText = response.join("\n").replaceAll("$URL", authUrl);
  const shortened = muted("The lines that matter; … stands for text that varies.");
  return {
    lead: "First what the specification says in this part, with its tests; then what this project decided.",
    sections: [
      {
        title: "What it says",
        body: [definitionList(sentences), howToTest, steps && list(steps, "ol")],
      },
      { title: "A request", body: code(command.replace("curl", "curl -i")) },
      { title: "The response", body: [shortened, code(responseText)] },
      { title: "What it leaves open", entries: decisionEntries(index + 1) },
      { title: "Try this", body: paragraph(exercise) },
    ],
  };
}
