// Hostile values for tests: invalid for every member of a body, and known to break programs.

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

/** Values that no member of any body accepts and that break programs. */
export const HOSTILE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  1.5,
  [],
  [[]],
  {},
  { a: 1 },
  [null],
  [{}],
  deep(50),
  "x".repeat(6_000),
  "9".repeat(400),
  "ﷺ".repeat(300),
  ..."| |\0|a\0b|<script>|\u{10FFFF}|__proto__|constructor|../../etc/passwd|%00|' OR 1=1 --|\u202e".split(
    "|",
  ),
  ..."\r\nSet-Cookie: a=b|{{7*7}}|NaN|http://169.254.169.254/".split("|"),
];

/** JSON texts that JSON.stringify cannot produce. */
export const RAW = [
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"a":1,"a":2}',
  '{"title":"\\ud800"}',
  '{"a":1e999}',
  "[".repeat(64) + "]".repeat(64),
  `{${Array.from({ length: 500 }, (_, at) => `"m${at}":1`).join(",")}}`,
];

export const HEADERS =
  "if-match if-none-match idempotency-key content-type accept x-forwarded-for range cookie".split(
    " ",
  );
export const VALUES = ["x".repeat(5_000), ...'| |"|*|,,,|~|é|bytes=0-|null|__proto__=1'.split("|")];
