// A receiver of deliveries that answers at once, or with the argument "silent" never. A GET asks whether it is there.
import { createServer } from "node:http";

const isSilent = process.argv[2] === "silent";
createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.method === "GET" || !isSilent) request.resume().on("end", () => response.end());
}).listen(Number(process.env.APPHOST_PORT), "127.0.0.1");
