// Is a text a point in time that needs no guessing? A date, or a date and time with its zone, as ISO 8601 writes them
// (RFC 3339 profile). A time without a zone is not: it is another moment in every place. Nothing is converted here.

const FORM =
  /^(\d{4}-\d\d-(\d\d))(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/;

/** A day that its month does not have is read as one of the next month, or as none. */
export function isDateTime(text: string): boolean {
  const [, date, day] = FORM.exec(text) ?? [];
  return date !== undefined && new Date(date).getUTCDate() === Number(day);
}
