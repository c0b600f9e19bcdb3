// The compose file of the README. No container engine runs it here: the test runs its commands with its variables.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { clientTest, requireClient } from "../support/clients.ts";
import { Client, closedPort, serve, serving } from "../support/index.ts";

interface ComposeFile {
  services: Record<string, Record<"image" | "command" | "environment", string>>;
}

const [, text = ""] =
  /^```yaml compose\.yaml\n(.*?)^```$/ms.exec(readFileSync("README.md", "utf8")) ?? [];

const BIN = "node_modules/.bin/app-hosting-service ";

clientTest(
  "README: the compose file starts a server and a receiver that reach each other by name",
  async () => {
    const { parse }: { parse(source: string, options: object): ComposeFile } =
      requireClient("yaml");
    const { services } = parse(text, { merge: true });
    for (const { image, environment } of Object.values(services))
      assert.deepEqual([image, environment], ["node:22", ["APPHOST_API_KEY"]]);
    const flagsOf = (name: string) => {
      const command = services[name]?.command ?? "";
      assert.ok(command.startsWith(BIN), command);
      return command.slice(BIN.length).split(" ");
    };
    const receiver = serve([...flagsOf("receiver"), "--port", "0"]);
    await receiver.prints("Listening on ");
    const env = { APPHOST_API_KEY: "key-for-containers" };
    const port = await closedPort();
    await serving(
      [...flagsOf("server"), "--log", "json", "--port", String(port)],
      "\n",
      async ({ said }) => {
        const ready = JSON.parse(said.stdout.split("\n")[0] ?? "");
        assert.equal(ready.base_url, "http://server:4600/v1");
        const api = new Client({
          baseUrl: `http://127.0.0.1:${port}/v1`,
          key: env.APPHOST_API_KEY,
        });
        for (const url of ["http://receiver:4700/", "http://172.18.0.3:4700/"])
          await api.create("/webhooks", { url, events: ["app.created"], secret: "between-us" });
        const url = receiver.said.stdout.replace("Listening on ", "").trim();
        await api.create("/webhooks", { url, events: ["app.created"], secret: "between-us" });
        await api.create("/apps", { title: "Sales" });
        await receiver.prints("app.created, attempt 1: new, answered 200");
      },
      env,
    );
    await receiver.kill();
  },
);
