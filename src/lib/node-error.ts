// Errors of Node's own modules, which carry a code such as ENOENT.

/** Checks the member, not the class: a test runner with its own globals has another Error. */
export const isNodeError = (error: unknown): error is NodeJS.ErrnoException =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string";
