// Reads FILE at a start, in the layout of format.ts or any other layout of the same JSON document. A person or
// `JSON.stringify(service.snapshot())` may have written it. Errors name file and line. A checksum mismatch is damage
// even if the JSON is valid.
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { StoreOpenError } from "../../domain/store.ts";
import { load, type TableDump, type Tables } from "../tables.ts";
import { BLOCK_LINES, checksumsOf, encode } from "./format.ts";
import { BYTES_MAX } from "./fs.ts";

/** The lines between the records, as format.ts writes them. */
const BETWEEN =
  /^(\{"format":1,"journal":\d+,"collections":\{|"([^"\\]|\\.)*":\[|\],?|\},"checksums":\[[^\]]*\]\}|)$/;

/** Throws with a place, or with the first line that matches; with line 1 if none does. */
type Refuse = (where: string | ((line: string) => boolean), what: string) => never;

interface Members {
  /** The number of the last journal line that FILE contains; undefined if the file has none. */
  readonly journal: number | undefined;
  readonly checksums: readonly unknown[] | undefined;
  readonly lists: TableDump;
}

/** Fills the tables. Returns the number of the last journal line that FILE contains, if it has one. */
export function readDocument(file: string, size: number, tables: Tables): number | undefined {
  if (size > BYTES_MAX)
    throw new StoreOpenError(
      `${file} has ${size} bytes, and no more than ${BYTES_MAX} can be read. Put a smaller one in its place, or keep so much data in another store.`,
    );
  const bytes = readFileSync(file);
  const text = bytes.toString("utf8").replace(/^\ufeff/, "");
  const refuse: Refuse = (where, what) => {
    const line = typeof where === "string" ? -1 : Math.max(0, text.split("\n").findIndex(where));
    throw new StoreOpenError(`${file} ${line < 0 ? where : `line ${line + 1}`}: ${what}`);
  };
  const members = membersOf(parsed(text, refuse), refuse);
  const isAsWritten =
    members.journal !== undefined && checksumsOf(bytes).join() === members.checksums?.join();
  // Otherwise invalid UTF-8 would be replaced silently.
  if (!isAsWritten && !isUtf8(bytes))
    refuse((line) => line.includes("\ufffd"), notWhole("not UTF-8"));
  const faulty = (fault: string, name: string, n?: number) => {
    if (n === undefined)
      return refuse(
        naming(name),
        `${fault}. Start the version that wrote it, or put a good copy in its place.`,
      );
    const record = JSON.stringify(members.lists.find(([each]) => each === name)?.[1][n]);
    // The later of two equal records is the duplicate.
    const line = text.split("\n").findLastIndex((each) => recordOn(each) === record);
    return refuse(line < 0 ? `${name}[${n}]` : `line ${line + 1}`, fault);
  };
  load(tables, members.lists, faulty);
  // Checked last, because an error in a record is more specific.
  if (!isAsWritten) refuseDamage(members, refuse);
  return members.journal;
}

/** Compares checksums of the canonical layout, so that reformatting alone is no damage. */
function refuseDamage({ journal = 0, checksums, lists }: Members, refuse: Refuse): void {
  if (checksums === undefined) return;
  const found = checksumsOf(Buffer.concat([...encode(journal, lists)]));
  const longer = found.length < checksums.length ? checksums : found;
  const at = longer.findIndex((_, n) => found[n] !== checksums[n]);
  if (at < 0) return;
  refuse(
    `lines ${at * BLOCK_LINES + 1} to ${(at + 1) * BLOCK_LINES}`,
    'not what was written there (checksum). Put a good copy in its place; if you changed it on purpose, remove its member "checksums".',
  );
}

const notWhole = (why: string) =>
  `not a whole JSON document (${why}). Put a good copy in its place.`;
const naming = (member: string) => (line: string) => line.includes(JSON.stringify(member));

function parsed(text: string, refuse: Refuse): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message quotes text around the error, including line feeds.
    return refuse((line) => !isOwn(line), notWhole(String(error).replaceAll("\n", " ")));
  }
}

/** Validates the document's members. Unknown members throw, because they may be misspelled. */
function membersOf(document: unknown, refuse: Refuse): Members {
  const wrong = (member: string, what: string) => refuse(naming(member), what);
  if (typeof document !== "object" || Array.isArray(document))
    return wrong("", 'not a JSON object with "format" and "collections"');
  const { format, collections, journal, checksums, ...others }: Record<string, unknown> = {
    ...document,
  };
  if (typeof format === "number" && format > 1)
    wrong("format", `format ${format} was written by a newer version; this one knows format 1`);
  for (const other of Object.keys(others)) wrong(other, `unknown member "${other}"`);
  if (format !== 1)
    wrong("format", '"format" is not 1: no data of this service; name another file');
  if (typeof collections !== "object" || collections === null) return wrong("", 'no "collections"');
  if (
    journal !== undefined &&
    !(typeof journal === "number" && Number.isSafeInteger(journal) && journal >= 0)
  )
    return wrong("journal", '"journal" is not the number of a line');
  if (checksums !== undefined && !Array.isArray(checksums))
    return wrong("checksums", '"checksums" is not an array');
  const lists = Object.entries(collections).map(([name, records]): TableDump[number] =>
    Array.isArray(records) ? [name, records] : wrong(name, `"${name}" is not an array of records`),
  );
  return { lists, journal, checksums };
}

/** Whether this program could have written the line. */
const isOwn = (line: string): boolean => BETWEEN.test(line) || recordOn(line) !== undefined;

/** The record on a line in canonical form. Damage may add white space, which does not change the record. */
function recordOn(line: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(line.replace(/,$/, "")));
  } catch {
    return undefined;
  }
}
