// The receivers of the figures, in a process of their own; the first argument says how it behaves. It tells its parent
// where it listens and, when asked, which apps it heard of and when (on the machine's own clock, the same for both).
import { readText, serve } from "./world.ts";

/** Made once: what the sending of it costs is taken from the machine that is measured. */
const CHUNK = Buffer.alloc(65_536);

const KINDS = {
  healthy: () => {
    process.on("message", () => process.send?.([...arrived]));
    const arrived: [appId: string, at_ms: number][] = [];
    return serve(async (request, response) => {
      const at_ms = Number(process.hrtime.bigint()) / 1e6;
      const [appId = ""] = /app_\w+/.exec(await readText(request)) ?? [];
      arrived.push([appId, at_ms]);
      response.end();
    });
  },
  quick: () =>
    serve(async (request, response) => {
      await readText(request);
      response.end();
    }),
  silent: () => serve(() => {}),
  dripping: () =>
    serve((request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write("."), 100);
      request.socket.on("close", () => clearInterval(drip));
    }),
  huge: () =>
    serve((_, response) => {
      response.writeHead(200, { "Content-Length": 2 ** 30 });
      const pump = () => {
        while (!response.destroyed && response.write(CHUNK));
      };
      response.on("drain", pump);
      pump();
    }),
};

const kind = Object.entries(KINDS).find(([name]) => name === process.argv[2])?.[1] ?? KINDS.quick;
const { url } = await kind();
process.send?.(url);
process.on("disconnect", () => process.exit(0));
