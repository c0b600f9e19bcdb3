// A receiver in a process of its own, for the speed figures: answers 200 to everything and tells its parent where it is.
import { readText, serve } from "./world.ts";

const { url } = await serve(async (request, response) => {
  await readText(request);
  response.end();
});
process.send?.(url);
process.on("disconnect", () => process.exit(0));
