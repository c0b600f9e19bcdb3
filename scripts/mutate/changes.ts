// The changes that mutation testing makes to the JavaScript that esbuild writes of a source file: no types, no templates,
// one statement a line and spaces around operators. Each stays within one line. Some do not parse; the caller finds out.
import { TOKEN } from "../../test/support/sources.ts";

const swap = (one: string, other: string) => (found: string) => (found === one ? other : one);

/** What is looked for, strings masked, and what stands there instead; a return and an arrow give nothing. */
const RULES: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/(?<=\b(?:if|while) )\(.+?\)(?= (?:[\w#{(]|!(?!=))|$)/g, (condition) => `(!${condition})`],
  [/(?<= )<=?(?= )/g, swap("<", "<=")],
  [/(?<= )>=?(?= )/g, swap(">", ">=")],
  [/(?<= )[=!]==(?= )/g, swap("===", "!==")],
  [/(?<= )[-+](?= )/g, swap("+", "-")],
  [/(?<= )[-+]=(?= )/g, swap("+=", "-=")],
  [/\+\+|--/g, swap("++", "--")],
  [/(?<= )[*/](?= )/g, swap("*", "/")],
  [/(?<= )%(?= )/g, () => "*"],
  [/(?<= )(?:&&|\|\|)(?= )/g, swap("&&", "||")],
  [/(?<= )\?\?(?= )/g, () => "&&"],
  [/(?<= )\?(?= )/g, () => "&& false ?"],
  [/!(?=[\w(#])|(?<=[( ])-(?=\w)/g, () => ""],
  [/\b(?:true|false)\b/g, swap("true", "false")],
  [/(?<![\w$#.]|\bvoid )\d[\w.]*/g, (number) => String(Number(number) + 1)],
  [/(["'])_*\1/g, (text) => (text.length > 2 ? '""' : '"changed"')],
  [/(?<=[(:=?,&|] |[([]|\breturn |^\s*)\[[^[\]]+\](?! =| of\b)/g, () => "[]"],
  [/(?<=\breturn) (?!void\b).+(?=;$)/g, () => ""],
  [/(?<==> )(?!void\b|\{$)(?:.+(?=;$)|[\w$#.]+(?:\([^()]*\))?(?=[,)]))/g, () => "void 0"],
  [/(?<=^\s*)(?!(?:const|let|return|if|else|for|while|do|case|default|export)\b)\w.*[(.].*;$/g, () => ";"],
  [/\b(?:break|continue)(?=;$)/g, () => ""],
];
const LINK = /^\s*(?:import\b|export [{*]|\} from )/;

/**
 * The lines that have some: where each begins behind its indentation, and between which places of the code what other text
 * can stand. What only links modules has none.
 */
export function changesOf(code: string) {
  let end = 0;
  // Rules must look neither into comments nor into strings and regular expressions.
  const masked = code.replace(TOKEN, (found) =>
    found.replace(/./g, /^\/[/*]/.test(found) ? " " : "_").replace(/^_|_$/g, found.slice(0, 1)),
  );
  const lines = masked.split("\n").map((source) => {
    const begin = end;
    end += source.length + 1;
    const changes = (LINK.test(source) ? [] : RULES).flatMap(([pattern, other]) =>
      [...source.matchAll(pattern)].map(({ 0: found, index }) => {
        const [from, to] = [begin + index, begin + index + found.length];
        return { from, to, text: other(code.slice(from, to)) };
      }),
    );
    return { start: begin + source.search(/\S|$/), changes };
  });
  return lines.filter(({ changes }) => changes.length > 0);
}
