// What was tried and what it found, as a table with a row each; what is wrong stands below it and ends the script with 1.

export interface Finding {
  readonly what: string;
  readonly tried: string;
  readonly wrong: readonly string[];
}

const SHOWN_MAX = 20;

/** One after the other, each told as soon as it is known. */
export async function report(parts: readonly (() => Promise<Finding>)[]): Promise<void> {
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
