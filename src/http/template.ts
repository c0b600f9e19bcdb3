// Texts of the register with places to fill: "<limit>" stands for the value called limit.

/** Cut up once, since some are filled for every answer. */
export function template(text: string): (values: Readonly<Record<string, string | number>>) => string {
  const pieces = text.split(/<(\w+)>/);
  return (values) => {
    let filled = "";
    let isName = false;
    for (const piece of pieces) {
      filled += isName ? values[piece] : piece;
      isName = !isName;
    }
    return filled;
  };
}
