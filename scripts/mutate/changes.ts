// The source changes for mutation testing. They rely on the formatter's spaces around operators. Each stays within one
// line and outside templates. Some do not parse or change only a type; the caller leaves those out.
import { TOKEN } from "../../test/support/sources.ts";

const PAIRS = "< <= > >= === !== && || + - += -= ++ -- * / true false".split(" ");
const OTHERS: Readonly<Record<string, string>> = { "??": "&&", "%": "*", "?": "&& false ?" };

/** The counterpart of an operator or boolean. */
function swap(found: string) {
  const at = PAIRS.indexOf(found);
  return OTHERS[found] ?? PAIRS[at % 2 === 0 ? at + 1 : at - 1] ?? "";
}

/** Patterns to match with strings masked, and their replacements; a return or an arrow function returns nothing. */
const RULES: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/(?<=\b(?:if|while) )\(.+?\)(?= (?:[\w#{(]|!(?!=))|$)/g, (condition) => `(!${condition})`],
  [/(?<= )(?:[<>]=?|[=!]==|[-+]=?|[*/%]|&&|\|\||\?\??)(?= )|\+\+|--|\b(?:true|false)\b/g, swap],
  [/!(?=[\w(#])|(?<=[( ])-(?=\w)/g, () => ""],
  [/(?<![\w$#.]|\bvoid )\d[\w.]*/g, (number) => String(Number(number) + 1)],
  [/(["'])_*\1/g, (text) => (text.length > 2 ? '""' : '"changed"')],
  [/(?<=[(:=?,&|] |[([]|\breturn |^\s*)\[[^[\]]+\](?! =| of\b)/g, () => "[]"],
  [/(?<=\breturn) (?!void\b|undefined;).+(?=;$)/g, () => ""],
  [/(?<==> )(?!void\b|\{\}|\{$)(?:.+(?=;$)|[\w$#.]+(?:\([^()]*\))?(?=[,)]))/g, () => "void 0"],
  // A statement that is a call or an assignment.
  [
    /(?<=^\s*)(?!(?:const|let|return|if|else|for|while|do|case|default|export|type)\b)\w.*[(.].*;$/g,
    () => ";",
  ],
  [/\b(?:break|continue)(?=;$)/g, () => ""],
];
const LINK = /^\s*(?:import\b|export [{*]|\} from )/;

/** All changes of a file's lines. Import and export lines have none. */
export function changesOf(text: string) {
  const lines = text.split("\n");
  // Rules must not match inside comments, strings or regular expressions.
  const masked = text.replace(TOKEN, (found) =>
    found.replace(/./g, /^\/[/*]/.test(found) ? " " : "_").replace(/^_|_$/g, found.slice(0, 1)),
  );
  return masked.split("\n").flatMap((source, at) => {
    const was = lines[at] ?? "";
    return (LINK.test(source) ? [] : RULES).flatMap(([pattern, replace]) =>
      Array.from(source.matchAll(pattern), ({ 0: { length }, index }) => {
        const end = index + length;
        const is = was.slice(0, index) + replace(was.slice(index, end)) + was.slice(end);
        return { line: at + 1, was, is };
      }),
    );
  });
}
