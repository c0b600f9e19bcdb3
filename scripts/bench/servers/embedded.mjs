// This service embedded, for what only the embedding program can ask for: an access token without a browser. The argument
// is the module to take it from.
const { startService } = await import(process.argv[2]);
const { BENCH_KEY: apiKey, BENCH_PORT: port } = process.env;
const service = await startService({ port: Number(port), apiKey, rateLimit: 999_999_999 });

process.on("message", async (question) => {
  if (question !== "token") return;
  const { access_token } = await service.signIn({ scopes: ["read:apps"] });
  process.send(access_token);
});
process.channel.unref();
