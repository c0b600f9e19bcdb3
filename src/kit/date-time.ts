// Is a text a point in time that needs no guessing? A date, or a date and time with its zone, as ISO 8601 writes them
// (RFC 3339 profile). A time without a zone is not: it is another moment in every place. Nothing is converted here.

const FORM = /^\d{4}-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(?:Z|[+-](\d\d):(\d\d)))?$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function isDateTime(text: string): boolean {
  const [form, month, day, hour, minute, second, zoneHour, zoneMinute] = FORM.exec(text) ?? [];
  if (form === undefined) return false;
  const within = (part: string | undefined, max: number) => part === undefined || Number(part) <= max;
  return (
    Number(day) >= 1 &&
    Number(day) <= daysIn(Number(form.slice(0, 4)), Number(month)) &&
    within(hour, 23) &&
    within(minute, 59) &&
    within(second, 59) &&
    within(zoneHour, 23) &&
    within(zoneMinute, 59)
  );
}

/** None for a month that does not exist. */
function daysIn(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0);
}
