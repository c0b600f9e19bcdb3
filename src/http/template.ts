// Texts of the register with places to fill: "<limit>" stands for the value called limit.

/** Cut up once, since some are filled for every answer. */
export function template(text: string): (values: Readonly<Record<string, string | number>>) => string {
  const pieces = text.split(/<(\w+)>/);
  return (values) => pieces.map((piece, at) => (at % 2 === 0 ? piece : values[piece])).join("");
}
