import { given } from "../arguments.ts";
import { tell } from "../findings.ts";
import { fuzz } from "./fuzz.ts";
import { raw } from "./raw.ts";

const string = { type: "string" } as const;
const { requests = "50000", seed = "1" } = given({ requests: string, seed: string }, "x");
tell(await raw(Number(requests) / 10, seed), "nothing found");
tell(await fuzz(Number(requests), seed), "nothing found");
