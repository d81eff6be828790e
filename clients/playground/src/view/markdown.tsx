// A model's Markdown. HTML in it is shown as it is written, but for breaks of lines and small letters above and below; pictures
// are links: a picture that is loaded would tell its address what was said. What marked makes is sanitised again before it becomes part of the page.
import DOMPurify from 'dompurify';
import { Marked, type Token, type Tokens } from 'marked';
import { memo } from 'preact/compat';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { AS_WRITTEN, Blocks } from './blocks.js';
import { BoundedLexer, BoundedTokenizer } from './bounded_marked.js';
import { Code, colour, copy } from './code.js';
import { draw, formulas } from './formulas.js';
import { Table, type TablePiece } from './table.js';

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const isWeb = (address: string): boolean => /^(https?:|mailto:|\/files\/)/i.test(address);
const link = (address: string, html: string): string =>
  isWeb(address) ? `<a href="${escaped(address)}" target="_blank" rel="noopener noreferrer">${html}</a>` : html;

/** The page has headings of its own above those of a text. */
const levelOf = (depth: number): number => Math.min(6, depth + ABOVE);
const ABOVE = 2;
/** The levels that screen readers are told of headings: a model leaves some out, as whoever goes from heading to heading does not expect. */
const levels = new WeakMap<object, number>();

function tellLevels(blocks: readonly Token[]): void {
  let above = ABOVE;
  for (const block of blocks) if (block.type === 'heading') levels.set(block, (above = Math.min(levelOf((block as Tokens.Heading).depth), above + 1)));
}

const languageOf = (lang: string | undefined): string => /^[\w+#.-]+/.exec(lang ?? '')?.[0] ?? '';

const marked = new Marked({
  gfm: true,
  renderer: {
    // These say nothing but how a line looks; models write them in cells of tables.
    html: ({ text }) => (/^<(br ?\/?|\/?su[bp])>$/i.test(text) ? text : escaped(text)),
    heading(token) {
      const level = levelOf(token.depth);
      const told = levels.get(token) ?? level;
      return `<h${level}${told === level ? '' : ` aria-level="${told}"`}>${this.parser.parseInline(token.tokens)}</h${level}>`;
    },
    link({ href, tokens }) {
      return link(href, this.parser.parseInline(tokens));
    },
    image: ({ href, text }) => link(href, `Picture: ${escaped(text || href)}`),
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    table({ header, rows, columns }: TablePiece) {
      const cell = (tag: 'th' | 'td', role: string) => ({ tokens, align }: Tokens.TableCell, at: number) =>
        `<${tag}${align ? ` align="${align}"` : ''}${columns ? ` role="${role}" width="${(columns.parts[at]! * 100).toFixed(3)}%"` : ''}>${this.parser.parseInline(tokens)}</${tag}>`;
      const row = (cells: string[]) => `<tr${columns ? ' role="row"' : ''}>${cells.join('')}</tr>`;
      const body = rows.map((cells) => row(cells.map(cell('td', 'cell')))).join('');
      return `<div class="table" tabindex="0" role="group" aria-label="Table"><table><thead>${row(header.map(cell('th', 'columnheader')))}</thead><tbody>${body}</tbody></table></div>`;
    },
    // In a list or a quotation.
    code({ text, lang }) {
      const language = languageOf(lang);
      return (
        `<div class="code" dir="ltr"><div class="code-head"><span>${escaped(language || 'text')}</span>` +
        `<button type="button" class="copy">Copy</button></div>` +
        `<pre tabindex="0" role="group" aria-label="Code"><code data-language="${escaped(language)}">${escaped(text)}</code></pre></div>`
      );
    },
  },
});

marked.use(formulas(escaped));
marked.use({
  extensions: [
    {
      // The sign of a footnote, in the text and before its own text. Other names may be classes of characters.
      name: 'footnote',
      level: 'inline',
      start: (text) => /\[\^\d/.exec(text)?.index,
      tokenizer(text) {
        const [raw, sign] = /^\[\^(\d{1,3})\]/.exec(text) ?? [];
        return raw === undefined ? undefined : { type: 'footnote', raw, sign };
      },
      renderer: ({ sign }) => `<sup>${sign}</sup>`,
    },
  ],
});
marked.setOptions({ tokenizer: new BoundedTokenizer() });
marked.lexer = (text) => new BoundedLexer(marked.defaults).lex(text);

const clean = (html: string): string =>
  DOMPurify.sanitize(html, { USE_PROFILES: { html: true }, ADD_ATTR: ['target'], FORBID_TAGS: ['style', 'img', 'form', 'input'], FORBID_ATTR: ['style'] });

/** `isGrowing`: more of it may come, so the last block is not coloured yet. */
export function Markdown({ text, isGrowing = false }: { text: string; isGrowing?: boolean }) {
  const read = useRef<Blocks | undefined>(undefined);
  const blocks = useMemo(() => {
    const found = (read.current ??= new Blocks(marked)).of(text);
    tellLevels(found);
    return found;
  }, [text]);
  return (
    <div class="markdown" onClick={copy}>
      {blocks.map((token, at) => (
        <BlockView key={at} token={token} isWhole={!isGrowing || at < blocks.length - 1} />
      ))}
    </div>
  );
}

const BlockView = memo(
  ({ token, isWhole }: { token: Token; isWhole: boolean }) => {
    switch (token.type) {
      case 'table':
        return <Table table={token as Tokens.Table} isWhole={isWhole} render={piece} />;
      case 'code':
        return (
          <div class="block">
            <Code text={(token as Tokens.Code).text} language={languageOf((token as Tokens.Code).lang)} isGrowing={!isWhole} />
          </div>
        );
      case AS_WRITTEN:
        return <p class="block as-written" dir="auto">{token.raw}</p>;
      default:
        return <Block raw={token.raw} isWhole={isWhole} render={() => marked.parser([token])} />;
    }
  },
  (before, next) => before.token === next.token && before.isWhole === next.isWhole,
);

const piece = (table: TablePiece): string => clean(marked.parser([table]));

interface BlockProps {
  raw: string;
  isWhole: boolean;
  render(): string;
}

/** What cannot be drawn is shown as it is written. */
function htmlOf(raw: string, render: () => string): string {
  try {
    return clean(render());
  } catch {
    return `<p class="as-written">${escaped(raw)}</p>`;
  }
}

/** A paragraph, a list: only the one that has changed is made anew. */
const Block = memo(
  ({ raw, render, isWhole }: BlockProps) => {
    const place = useRef<HTMLDivElement>(null);
    const html = htmlOf(raw, render);
    useEffect(() => {
      if (!isWhole) return;
      for (const code of place.current!.querySelectorAll<HTMLElement>('code[data-language]')) void colour(code, code.dataset.language!);
      void draw(place.current);
    }, [html, isWhole]);
    return <div ref={place} class="block" dir="auto" dangerouslySetInnerHTML={{ __html: html }} />;
  },
  (before, next) => before.raw === next.raw && before.isWhole === next.isWhole,
);
