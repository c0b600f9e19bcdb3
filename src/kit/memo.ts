// Answers that depend on nothing but the question, kept for the next time it is asked. Bounded: a full memo starts anew,
// so that questions from outside cannot grow it.

export function memo<T>(size_max: number, answer: (question: string) => T): (question: string) => T {
  const known = new Map<string, T>();
  return (question) => {
    const before = known.get(question);
    if (before !== undefined) return before;
    const found = answer(question);
    if (known.size >= size_max) known.clear();
    known.set(question, found);
    return found;
  };
}
