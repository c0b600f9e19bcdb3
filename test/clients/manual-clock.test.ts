// Stock verifiers accept signatures of a service with a manual clock: it starts at the real time (contract, part 10).
import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { members, str } from "../support/client.ts";
import { clientTest, requireClient } from "../support/clients.ts";
import { embedded } from "../support/embedded.ts";
import { hooked } from "../support/receivers.ts";

clientTest("manual clock: jose and jsonwebtoken accept its access tokens", async () => {
  await using it = await embedded();
  const { access_token } = await it.service.signIn({ scopes: ["read:apps"] });
  const { createRemoteJWKSet, jwtVerify } = requireClient("jose");
  const keys = createRemoteJWKSet(new URL(`${it.authUrl}/oauth/jwks`));
  const options = { issuer: it.authUrl, audience: it.baseUrl, maxTokenAge: "1h", typ: "at+jwt" };
  assert.equal((await jwtVerify(access_token, keys, options)).payload.scope, "read:apps");
  const { json } = await it.api.root.get("/oauth/jwks");
  const [key] = Array.isArray(json.keys) ? json.keys.map(members) : [];
  const pem = createPublicKey({ key: { ...key }, format: "jwk" });
  const claims = requireClient("jsonwebtoken").verify(access_token, pem, {
    algorithms: ["ES256"],
    audience: it.baseUrl,
    issuer: it.authUrl,
    maxAge: "1h",
  });
  assert.equal(claims.scope, "read:apps");
});

clientTest("manual clock: the Standard Webhooks library accepts its deliveries", async () => {
  await using it = await embedded();
  const receiver = await hooked(it.api, ["app.created"], { secret: "ascii" });
  const { id } = await it.api.create("/apps", { title: "Signed" });
  const { rawBody, attempts } = await receiver.next("app.created");
  const { Webhook } = requireClient("standardwebhooks");
  const verified = new Webhook("ascii", { format: "raw" }).verify(rawBody, attempts[0]?.headers);
  assert.equal(str(members(members(members(verified).data).object).id), id);
});
