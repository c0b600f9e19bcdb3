// Other versions, and the end of something (spec part 9 has the version in the path and leaves both open).
import assert from "node:assert/strict";
import { route } from "../../src/http/route.ts";
import { choice } from "../support/clauses.ts";
import { problem } from "../support/problem.ts";

choice("9.other-versions", "another version is 404 and names the one there is", "ours", async ({ api }) => {
  for (const path of ["/v2/apps", "/v2", "/v0/apps", "/v10/", "/v2/v1/apps"])
    assert.match(String(problem(await api.root.get(path), "not_found").detail), /\/v1/, path);
  for (const path of ["/v1x", "/V1/apps", "/apps", "/v1.0/apps", "/v", "/api/v1/apps"])
    problem(await api.root.get(path), "not_found");
  assert.equal((await api.root.send("PUT", "/v2/apps")).status, 404);
});

choice("9.deprecation", "nothing is deprecated yet, and nothing says so", async ({ api }) => {
  const { headers } = await api.get("/apps");
  assert.deepEqual([headers.deprecation, headers.sunset], [undefined, undefined]);
});

choice("9.deprecation", "what is says so, and until when, in two headers", "ours", async () => {
  const end = { deprecated_at: "2026-03-01T00:00:00.000Z", gone_at: "2027-03-01T12:00:00.000Z" };
  const { headers } = route("GET /old", null, "readOld", "Read what ends", { ends: end, run: async () => null });
  assert.deepEqual(headers, { deprecation: "@1772323200", sunset: "Mon, 01 Mar 2027 12:00:00 GMT" });
});
