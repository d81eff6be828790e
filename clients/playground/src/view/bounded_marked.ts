// Bounds for what a model may have Markdown do. Owns that no text is nested so deep, or asked so often where something ends,
// that the page would stop for it: beyond the bounds it stands as it is written.
import { Lexer, type Token, Tokenizer, type Tokens } from 'marked';

/** Lists and quotations in each other, and marks of a line in each other. Whoever writes for readers needs a few. */
const DEEPEST = 24;
/** The characters that may be looked through for the ends of the emphasis of one paragraph, each as often as it is. */
const MOST_LOOKED_THROUGH = 1_000_000;
/** No emphasis has so many signs. */
const LONG_ROW = /^(?:\*{9,}|_{9,})/;
/** The characters of a paragraph. Much that may begin in one is looked for an end until the paragraph's, each as often as it is. */
const LONGEST_PARAGRAPH = 20_000;

export class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    if (text.length <= LONGEST_PARAGRAPH) return super.inlineTokens(text, tokens);
    tokens.push({ type: 'text', raw: text, text });
    return tokens;
  }
}

export class BoundedTokenizer extends Tokenizer {
  #blocks = 0;
  #marks = 0;
  #paragraph = '';
  #lookedThrough = 0;

  override blockquote(text: string): Tokens.Blockquote | undefined {
    return this.#block(() => super.blockquote(text));
  }

  override list(text: string): Tokens.List | undefined {
    return this.#block(() => super.list(text));
  }

  // A footnote's text stands where the model has put it, and is no address of a link.
  override def(text: string): Tokens.Def | undefined {
    return /^ {0,3}\[\^/.test(text) ? undefined : super.def(text);
  }

  override link(text: string): Tokens.Link | Tokens.Image | undefined {
    return this.#mark(() => super.link(text));
  }

  override reflink(text: string, links: Parameters<Tokenizer['reflink']>[1]): ReturnType<Tokenizer['reflink']> {
    return this.#mark(() => super.reflink(text, links));
  }

  override emStrong(text: string, paragraph: string, before?: string): Tokens.Em | Tokens.Strong | undefined {
    const [row] = LONG_ROW.exec(text) ?? [];
    // Read sign by sign, it would be looked through once for each of them. Any token may stand here.
    if (row !== undefined) return { type: 'text', raw: row, text: row } as Tokens.Text as never;
    return this.#isAffordable(text, paragraph) ? this.#mark(() => super.emStrong(text, paragraph, before)) : undefined;
  }

  override del(text: string, paragraph: string, before?: string): Tokens.Del | undefined {
    return this.#isAffordable(text, paragraph) ? this.#mark(() => super.del(text, paragraph, before)) : undefined;
  }

  #block<T>(read: () => T | undefined): T | undefined {
    if (this.#blocks >= DEEPEST) return undefined;
    this.#blocks += 1;
    try {
      return read();
    } finally {
      this.#blocks -= 1;
    }
  }

  #mark<T>(read: () => T | undefined): T | undefined {
    if (this.#marks >= DEEPEST) return undefined;
    this.#marks += 1;
    try {
      return read();
    } finally {
      this.#marks -= 1;
    }
  }

  #isAffordable(text: string, paragraph: string): boolean {
    if (!/^[*_~]/.test(text)) return true;
    if (this.#marks === 0 && paragraph !== this.#paragraph) {
      this.#paragraph = paragraph;
      this.#lookedThrough = 0;
    }
    this.#lookedThrough += text.length;
    return this.#lookedThrough <= MOST_LOOKED_THROUGH;
  }
}
