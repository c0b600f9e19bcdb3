// The libraries for Standard Webhooks verify deliveries unchanged, configured with the secret alone.
import assert from "node:assert/strict";
import { clientTest, requireClient } from "../support/clients.ts";
import { embedded, httpReceiver } from "../support/index.ts";

type Verify = (body: string, headers: object, secret: string) => unknown;

const LIBRARIES = ["standardwebhooks", "svix"];

/** Verifies as the library's own documentation shows. */
function verifyBy(library: string): Verify {
  const { Webhook } = requireClient(library);
  return (body, headers, secret) => new Webhook(secret).verify(body, headers);
}

for (const library of LIBRARIES)
  clientTest(
    `${library} verifies deliveries with its default constructor, also a week of the service's clock later`,
    async () => {
      const verify = verifyBy(library);
      await using it = await embedded();
      for (const secret of [undefined, "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NQ=="]) {
        const receiver = await httpReceiver((count) => (count === 1 ? 500 : 200));
        const webhook = await it.api.create("/webhooks", {
          url: receiver.url,
          events: ["app.created"],
          ...(secret && { secret }),
        });
        await it.api.create("/apps", { title: "ü 鍵 🔑" });
        await it.service.settled();
        await it.service.clock.advance("7d");
        assert.equal(receiver.got.length, 2);
        for (const { headers, body } of receiver.got) {
          assert.deepEqual(verify(body, headers, String(webhook.secret)), JSON.parse(body));
          assert.throws(
            () => verify(`${body} `, headers, String(webhook.secret)),
            /No matching signature/,
          );
        }
      }
    },
  );
