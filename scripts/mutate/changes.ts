// The source changes for mutation testing. They rely on the formatter's spaces around operators. Each stays within one
// line and outside templates. Some do not parse or change only a type; the caller filters those.
import { TOKEN } from "../../test/support/sources.ts";

/** Replacements for operators and booleans. */
const OTHER: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "??": "&&",
  "+": "-",
  "-": "+",
  "+=": "-=",
  "-=": "+=",
  "++": "--",
  "--": "++",
  "*": "/",
  "/": "*",
  "%": "*",
  "?": "&& false ?",
  true: "false",
  false: "true",
};
const other = (found: string) => OTHER[found] ?? "";

/** Patterns to match with strings masked, and their replacements; a return or an arrow function returns nothing. */
const RULES: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/(?<=\b(?:if|while) )\(.+?\)(?= (?:[\w#{(]|!(?!=))|$)/g, (condition) => `(!${condition})`],
  [/(?<= )(?:[<>]=?|[=!]==|[-+]=?|[*/%]|&&|\|\||\?\??)(?= )|\+\+|--|\b(?:true|false)\b/g, other],
  [/!(?=[\w(#])|(?<=[( ])-(?=\w)/g, () => ""],
  [/(?<![\w$#.]|\bvoid )\d[\w.]*/g, (number) => String(Number(number) + 1)],
  [/(["'])_*\1/g, (text) => (text.length > 2 ? '""' : '"changed"')],
  [/(?<=[(:=?,&|] |[([]|\breturn |^\s*)\[[^[\]]+\](?! =| of\b)/g, () => "[]"],
  [/(?<=\breturn) (?!void\b|undefined;).+(?=;$)/g, () => ""],
  [/(?<==> )(?!void\b|\{\}|\{$)(?:.+(?=;$)|[\w$#.]+(?:\([^()]*\))?(?=[,)]))/g, () => "void 0"],
  [
    /(?<=^\s*)(?!(?:const|let|return|if|else|for|while|do|case|default|export|type)\b)\w.*[(.].*;$/g,
    () => ";",
  ],
  [/\b(?:break|continue)(?=;$)/g, () => ""],
];
const LINK = /^\s*(?:import\b|export [{*]|\} from )/;

/** The lines that can be mutated, each with all its replacements. Import and export lines have none. */
export function changesOf(text: string) {
  const lines = text.split("\n");
  // Rules must not match inside comments, strings or regular expressions.
  const masked = text.replace(TOKEN, (found) =>
    found.replace(/./g, /^\/[/*]/.test(found) ? " " : "_").replace(/^_|_$/g, found.slice(0, 1)),
  );
  const all = masked.split("\n").map((source, at) => {
    const was = lines[at] ?? "";
    const changes = (LINK.test(source) ? [] : RULES).flatMap(([pattern, instead]) =>
      [...source.matchAll(pattern)].map(({ 0: found, index }) => {
        const end = index + found.length;
        return was.slice(0, index) + instead(was.slice(index, end)) + was.slice(end);
      }),
    );
    return { line: at + 1, was, changes };
  });
  return all.filter(({ changes }) => changes.length > 0);
}
