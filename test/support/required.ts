// Tests that need a program or a right of this machine. Without it they are skipped with the reason;
// TEST_REQUIRE_NAME=1, as CI sets it, makes that a failure.

/** Returns the reason to skip, or false if the tool is here. Throws if it is missing but required. */
export function skipUnless(isHere: boolean, name: string, why: string) {
  if (isHere) return false;
  if (process.env[`TEST_REQUIRE_${name}`] === "1")
    throw new Error(`TEST_REQUIRE_${name}=1, but ${why}`);
  return why;
}
