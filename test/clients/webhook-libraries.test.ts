// The libraries for Standard Webhooks verify deliveries unchanged, configured with the secret alone (contract, part 6).
import assert from "node:assert/strict";
import { clientTest, requireClient } from "../support/clients.ts";
import { embedded } from "../support/embedded.ts";
import { httpReceiver } from "../support/receivers.ts";

type Verify = (body: string, headers: object, secret: string) => unknown;

const LIBRARIES = ["standardwebhooks", "svix"];

/** Verifies as the library's own documentation shows. */
function verifyBy(library: string): Verify {
  const { Webhook } = requireClient(library);
  return (body, headers, secret) => new Webhook(secret).verify(body, headers);
}

const GIVEN = [
  "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NQ==",
  "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
];

for (const library of LIBRARIES)
  clientTest(
    `${library} verifies deliveries with its default constructor, also a week of the service's clock later`,
    async () => {
      const verify = verifyBy(library);
      await using it = await embedded();
      const { api, service } = it;
      for (const given of [undefined, ...GIVEN]) {
        const receiver = await httpReceiver((count) => (count === 1 ? 500 : 200));
        const fields = {
          url: receiver.url,
          events: ["app.created"],
          ...(given && { secret: given }),
        };
        const secret = String((await api.create("/webhooks", fields)).secret);
        await api.create("/apps", { title: "ü 鍵 🔑" });
        await service.settled();
        await service.clock.advance("7d");
        await api.create("/apps", { title: "A week later" });
        await service.settled();
        assert.equal(
          receiver.got.length,
          3,
          "an attempt that failed, its retry, and the event of a week later",
        );
        for (const { headers, body } of receiver.got) {
          assert.deepEqual(verify(body, headers, secret), JSON.parse(body));
          assert.throws(() => verify(`${body} `, headers, secret), /No matching signature/);
          assert.throws(
            () => verify(body, headers, "whsec_QW5vdGhlciBzZWNyZXQgb2YgMjQgYnl0"),
            /No matching signature/,
          );
        }
      }
    },
  );

clientTest("standardwebhooks verifies any other secret by its raw bytes", async () => {
  const { Webhook } = requireClient("standardwebhooks");
  await using it = await embedded();
  const receiver = await httpReceiver();
  await it.api.create("/webhooks", {
    url: receiver.url,
    events: ["app.created"],
    secret: "between us",
  });
  await it.api.create("/apps", { title: "A" });
  await it.service.settled();
  const [{ headers, body } = { headers: {}, body: "" }] = receiver.got;
  assert.deepEqual(
    new Webhook("between us", { format: "raw" }).verify(body, headers),
    JSON.parse(body),
  );
});
