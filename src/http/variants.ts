// Variants: common behaviours of other servers where the specification leaves a gap (contract, part 11).

/** Every variant by name, with the value that selects it. */
export const ALL_VARIANTS = {
  "list-shape": "bare",
  "create-status": "200",
  "delete-response": "body",
  "error-body": "flat",
  "validation-status": "400",
  "rate-headers": "x-ratelimit",
  "max-limit": "cut",
  "unknown-members": "ignored",
} as const;

export type Variants = { readonly [N in keyof typeof ALL_VARIANTS]?: (typeof ALL_VARIANTS)[N] };
