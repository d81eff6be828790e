// A growing Markdown text as blocks. Owns that what is closed is read once: of a text that grows, only its last two blocks
// are read again, and of a table only its newest rows. Pure.
import type { Marked, Token, Tokens } from 'marked';

/** The rows of a table that are read, and shown, as one. */
export const ROWS = 20;

/** A block that stands as it is written. */
export const AS_WRITTEN = 'as-written';

export class Blocks {
  #text = '';
  #closed: Token[] = [];
  /** The place in the text behind what is closed. */
  #at = 0;
  /** Of a table whose first rows are closed: its two first lines, and those rows. */
  #head = '';
  #rows: Tokens.TableCell[][] = [];

  constructor(readonly marked: Marked) {}

  /** The blocks of the text; those that are closed are the same objects as before. What cannot be read is one block. */
  of(text: string): Token[] {
    try {
      return this.#read(text);
    } catch {
      this.#reset();
      return [{ type: AS_WRITTEN, raw: text }];
    }
  }

  #read(text: string): Token[] {
    if (!text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    const tail = this.#head + text.slice(this.#at);
    const read: Token[] = this.marked.lexer(tail);
    // A definition counts for all of the text, and other ends of lines change the places in it.
    if (read.some(({ type }) => type === 'def') || read.map(({ raw }) => raw).join('') !== tail) {
      this.#reset();
      return shown(this.marked.lexer(text));
    }
    const tokens = read.map((token, at) => (at === 0 && this.#head ? { ...token, rows: [...this.#rows, ...(token as Tokens.Table).rows] } : token));
    const blocks = shown(tokens);
    const last = blocks.at(-1);
    const open = isLong(last) ? last : blocks.at(-2);
    if (open) this.#close(tokens.slice(0, tokens.indexOf(open)), read);
    const all = [...shown(this.#closed), ...blocks.slice(blocks.indexOf(open!))];
    if (!open) return all;
    if (isLong(last) && open === last) this.#closeRows(last);
    return all;
  }

  #close(tokens: Token[], read: readonly Token[]): void {
    if (tokens.length === 0) return;
    this.#closed.push(...tokens);
    this.#at += read.slice(0, tokens.length).reduce((sum, { raw }) => sum + raw.length, 0) - this.#head.length;
    this.#head = '';
    this.#rows = [];
  }

  /** Closes whole pieces of rows; the newest rows stay open. */
  #closeRows(table: Tokens.Table): void {
    const count = Math.floor((table.rows.length - 1) / ROWS) * ROWS;
    const more = count - this.#rows.length;
    if (more <= 0) return;
    const lines = table.raw.split('\n');
    const head = `${lines[0]}\n${lines[1]}\n`;
    this.#at += lines.slice(2, 2 + more).join('\n').length + 1 + (this.#head ? 0 : head.length);
    this.#head = head;
    this.#rows = table.rows.slice(0, count);
  }

  #reset(): void {
    this.#text = this.#head = '';
    this.#closed = [];
    this.#rows = [];
    this.#at = 0;
  }
}

const shown = (tokens: readonly Token[]): Token[] => tokens.filter(({ type }) => type !== 'space');
const isLong = (token: Token | undefined): token is Tokens.Table => token?.type === 'table' && (token as Tokens.Table).rows.length > ROWS;
