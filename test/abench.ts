import http from "node:http";
const { startService } = await import(process.argv[2] + "/src/index.ts");
const s = await startService({ port: 0, rateLimit: "off", ...(process.argv[3] ? { data: process.argv[3] } : {}) });
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
const u = new URL(s.baseUrl + "/apps");
const req = (method: string) => new Promise<void>((res, rej) => {
  const r = http.request({ host: "127.0.0.1", port: u.port, path: method === "POST" ? "/v1/apps" : "/v1/apps?limit=1", method, agent, headers: { authorization: `Bearer ${s.apiKey}`, "content-type": "application/json" } }, (m) => { m.resume(); m.on("end", () => m.statusCode! < 300 ? res() : rej(new Error(String(m.statusCode)))); });
  r.on("error", rej); r.end(method === "POST" ? '{"title":"x"}' : undefined);
});
const run = async (method: string, n: number) => { const c = process.cpuUsage(); const t = performance.now(); let k = 0; await Promise.all(Array.from({ length: 8 }, async () => { while (k++ < n) await req(method); })); const u = process.cpuUsage(c); return [((u.user + u.system) / n).toFixed(0), ((performance.now() - t) * 1000 / n).toFixed(0)]; };
await run("GET", 5000); await run("POST",500);
for (let i = 0; i < 4; i++) console.log("GET us cpu", (await run("GET", 6000))[0], "POST", (await run("POST", 3000))[0]);
await s.close();
