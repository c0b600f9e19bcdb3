// `npm run attack`: simulates attackers and a bad network. Each row reports one attack and its findings. A finding is
// listed below the table with the request that caused it, and fails the run.
import { COUNT, parseOptions, textOption } from "../arguments.ts";
import { report } from "../findings.ts";
import { fuzz } from "./fuzz.ts";
import { spoiled } from "./wire.ts";

const [{ requests = "50000", seed = "1" }] = parseOptions("attack -- [options]", {
  requests: textOption(
    "N",
    "so many drawn from the OpenAPI document (50000), and a tenth of it spoiled on the wire",
    COUNT,
  ),
  seed: textOption("N", "another number draws others (1)", COUNT),
});
await report([
  () => fuzz(Number(requests), Number(seed)),
  () => spoiled(Math.ceil(Number(requests) / 10), Number(seed)),
]);
