// What is printed once the server listens: everything that is needed for a first request, and a curl line that works.
import { styleText } from "node:util";
import type { Settings } from "./options.ts";
import type { Service } from "./service.ts";

export function ready(service: Service, { log, tlsCert, data }: Settings): string {
  const { baseUrl, authUrl, apiKey, signInUrl, signsIn } = service;
  if (log === "json")
    return JSON.stringify({
      event: "ready",
      base_url: baseUrl,
      auth_url: authUrl,
      api_key: apiKey,
      sign_in_url: signInUrl,
      pid: process.pid,
    });
  const row = (name: string, value: string) => `  ${styleText("dim", name.padEnd(10))}${value}`;
  return [
    styleText("bold", "App Hosting Service is ready."),
    row("Base URL", baseUrl),
    row("Auth URL", authUrl),
    row("Sign in", `${signInUrl}  (${signsIn})`),
    row("API key", apiKey ?? "unchanged (only its hash is kept; pin one with --api-key)"),
    row("Data", data ?? "in memory; --data FILE keeps them"),
    "",
    `  curl ${tlsCert === null ? "" : "--insecure "}${baseUrl}/apps -H "Authorization: Bearer ${apiKey ?? "$API_KEY"}" -H "Content-Type: application/json" -d '{"title":"My first app"}'`,
    "",
  ].join("\n");
}
