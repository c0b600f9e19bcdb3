// Prints each check and its findings as a table row; problems are listed below the table and set exit code 1.

export interface Finding {
  readonly what: string;
  readonly tried: string;
  readonly wrong: readonly string[];
}

const SHOWN_MAX = 20;

/** Runs the parts one after the other and prints each result at once. */
export async function report(parts: readonly (() => Promise<Finding>)[]) {
  const shown: string[] = [];
  console.log("| What | Tried | Found |\n| --- | --- | --- |");
  for (const part of parts) {
    const { what, tried, wrong } = await part();
    console.log(
      `| ${what} | ${tried} | ${wrong.length === 0 ? "nothing" : `**${wrong.length}**`} |`,
    );
    shown.push(...wrong.slice(0, SHOWN_MAX));
  }
  if (shown.length === 0) return;
  console.log(`\n${shown.join("\n")}`);
  process.exitCode = 1;
}
