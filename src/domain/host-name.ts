// A custom domain (spec part 2; contract part 2): lower case, international names in their ASCII form, RFC 1123 labels,
// two or more of them; an address or a port is no host name.
import { domainToASCII } from "node:url";
import { type Schema, text } from "../kit/schema.ts";

/** RFC 1123; a single label is a machine of somebody's own network, never a domain that can be pointed here. */
const RULES = { labels_min: 2, length_max: 253, label: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/ };
const UNFIT = `must be a host name of ${RULES.labels_min} or more labels, without scheme, port or path, and no IP address`;

const written = text({
  min: 1,
  max: RULES.length_max,
  format: "hostname",
  rule: (given) => (canonicalHost(given) === undefined ? UNFIT : undefined),
});

/** Answers the name in its one spelling. */
export const hostName: Schema<string> = {
  ...written,
  check(value, path, faults) {
    const before = faults.length;
    const given = written.check(value, path, faults);
    return faults.length > before ? given : (canonicalHost(given) ?? given);
  },
};

function canonicalHost(given: string): string | undefined {
  if (/[^\p{L}\p{M}\p{N}.\-\u3002\uff0e\uff61]/u.test(given)) return undefined;
  const name = domainToASCII(given).toLowerCase();
  const labels = name.split(".");
  if (labels.length < RULES.labels_min || !labels.every((label) => RULES.label.test(label))) return undefined;
  // An address is written with a number behind the last dot, whatever it was written like before.
  return name.length <= RULES.length_max && !/^\d+$/.test(labels.at(-1) ?? "") ? name : undefined;
}
