// Formulas in a model's Markdown: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` by themselves. Owns where one begins and
// ends; until it is drawn, and where it cannot be, it stands as it is written. math.ts, which draws it, is fetched with the
// first one.
import type { MarkedExtension, Tokens } from 'marked';
import { fetched } from './parts.js';

/** What is longer is shown as it is written. */
const LONGEST = 4000;

// An amount of money is no formula: none begins before a space or ends behind one, and none ends before a digit. An end is not
// sought further than the longest one goes: a model may write any number of beginnings.
const IN_LINE = /^(?:\$\$((?:\\[^]|[^\\$]){1,4000}?)\$\$|\\\[([^]{1,4000}?)\\\]|\$(?![\s$])((?:\\[^]|[^\\$\n`]){1,4000}?)(?<!\s)\$(?!\d)|\\\(([^]{1,4000}?)\\\))/;
const BY_ITSELF = /^ {0,3}(?:\$\$([^]{1,4000}?)\$\$|\\\[([^]{1,4000}?)\\\])[ \t]*(?:\n|$)/;

/** Each paragraph is asked for with all that follows it, which is not to be read again and again. */
function paragraphOf(text: string): string {
  const end = text.indexOf('\n\n');
  return end < 0 ? text : text.slice(0, end);
}

interface Formula extends Tokens.Generic {
  tex: string;
  isDisplayed: boolean;
}

/** `escaped`: a text as HTML. */
export function formulas(escaped: (text: string) => string): MarkedExtension {
  const token = (type: string, found: RegExpExecArray | null): Formula | undefined => {
    if (!found) return undefined;
    const [raw, dollars, bracket, dollar, parenthesis] = found;
    const displayed = dollars ?? bracket;
    return { type, raw, tex: (displayed ?? dollar ?? parenthesis)!.trim(), isDisplayed: displayed !== undefined };
  };
  return {
    extensions: [
      {
        name: 'formula',
        level: 'block',
        // One without an end must not end a paragraph: each line of it would be read with all that follow.
        start: (text) => [...paragraphOf(text).matchAll(/^ {0,3}(?:\$\$|\\\[)/gm)].find(({ index }) => BY_ITSELF.test(text.slice(index)))?.index,
        tokenizer: (text) => token('formula', BY_ITSELF.exec(text)),
        renderer: ({ raw, tex }) => `<div class="math" data-tex="${escaped(tex)}" data-displayed tabindex="0" role="group" aria-label="Formula">${escaped(raw.trim())}</div>`,
      },
      {
        name: 'formula-in-line',
        level: 'inline',
        start: (text) => /\$|\\[[(]/.exec(text)?.index,
        tokenizer: (text) => token('formula-in-line', IN_LINE.exec(text)),
        renderer: ({ raw, tex, isDisplayed }) => `<span class="math" data-tex="${escaped(tex)}"${isDisplayed ? ' data-displayed' : ''}>${escaped(raw)}</span>`,
      },
    ],
  };
}

/** Draws the formulas of a piece of the page. */
export async function draw(place: HTMLElement | null): Promise<void> {
  const all = [...(place?.querySelectorAll<HTMLElement>('.math:not([data-drawn])') ?? [])].filter(({ dataset }) => dataset.tex!.length <= LONGEST);
  if (all.length === 0) return;
  const part = await fetched(import('./math.js'));
  if (!part) return;
  for (const element of all) {
    const math = part.drawn(element.dataset.tex!, 'displayed' in element.dataset);
    if (math) element.replaceChildren(math);
    element.dataset.drawn = String(math !== undefined);
  }
}
