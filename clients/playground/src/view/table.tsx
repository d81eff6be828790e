// A model's table, by pieces of its rows: those that were shown stay as they are. Owns that a further row of a long table
// costs as much as one of a short table. The columns get their widths from the head and the first piece, and the browser lays
// out each piece by itself, so that a new row touches none of the others. For that the rows are boxes of their own; it
// stays one table for whoever copies it, and its roles say so to screen readers.
import type { Tokens } from 'marked';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ROWS } from './blocks.js';
import { draw } from './formulas.js';

/** Of a table whose columns have their widths: those, as parts of the whole, and the least width of the whole in pixels. */
export interface Columns {
  parts: readonly number[];
  least: number;
}

/** `columns` is missing while the browser finds the widths. */
export interface TablePiece extends Tokens.Table {
  columns?: Columns | undefined;
}

/** So many columns want more room than the column of an answer has. */
const BROAD = 5;

/** The rows of a piece: where a row has many cells, fewer. */
const rowsOf = (columns: number): number => (columns > 2 * BROAD ? ROWS / 4 : ROWS);

/** The pieces that are made in one go: those of a table that comes whole follow one after the other. */
const AT_ONCE = 3;

/** The columns get new widths when the place is wider or narrower by such a part, and that for such a while. */
const CHANGE = 0.2;
const PAUSE_MS = 200;

interface Props {
  table: Tokens.Table;
  /** No more rows will come. */
  isWhole: boolean;
  /** A piece as a whole table in HTML, sanitised. */
  render(piece: TablePiece): string;
}

export function Table({ table, isWhole, render }: Props) {
  const place = useRef<HTMLTableElement>(null);
  const [columns, setColumns] = useState<Columns>();
  const rows = rowsOf(table.header.length);
  const atOnce = rows < ROWS ? 1 : AT_ONCE;
  const [made, setMade] = useState(atOnce);
  const count = Math.max(1, Math.ceil(table.rows.length / rows));
  const shown = columns ? Math.min(made, count) : 1;
  const isLong = count > 1;
  useLayoutEffect(() => {
    if (!isLong) return;
    const frame = place.current!.parentElement!;
    let settledFor = 0;
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const settle = () => {
      settledFor = frame.clientWidth;
      setColumns(columnsOf(place.current!, settledFor));
    };
    settle();
    // A screen that is turned, a panel that opens; what was folded away had no width.
    const resized = new ResizeObserver(() => {
      clearTimeout(waiting);
      if (Math.abs(frame.clientWidth - settledFor) > settledFor * CHANGE) waiting = setTimeout(settle, PAUSE_MS);
    });
    resized.observe(frame);
    return () => {
      clearTimeout(waiting);
      resized.disconnect();
    };
  }, [isLong]);
  useEffect(() => {
    if (!columns || made >= count) return;
    const next = setTimeout(() => setMade(made + atOnce));
    return () => clearTimeout(next);
  }, [columns, made, count]);
  useEffect(() => {
    if (isWhole) void draw(place.current);
  }, [table, isWhole, columns, shown]);
  return (
    <div class="block" dir="auto">
      <div class={`table${table.header.length >= BROAD ? ' broad' : ''}`} tabIndex={0} role="group" aria-label="Table">
        <table ref={place} {...(columns && { class: 'long-table', role: 'table', style: { minWidth: `${columns.least}px` } })}>
          <Rows part="thead" table={table} rows={[]} columns={columns} render={render} />
          {Array.from({ length: shown }, (_, at) => (
            <Rows key={at} part="tbody" table={table} rows={table.rows.slice(at * rows, (at + 1) * rows)} columns={columns} render={render} />
          ))}
        </table>
      </div>
    </div>
  );
}

/**
 * The columns as the browser lays them out in a place of this width. In one that is a little narrower the table gets narrower
 * until a word would be broken.
 */
function columnsOf(table: HTMLTableElement, width: number): Columns {
  const first = table.cloneNode() as HTMLTableElement;
  first.append(...[...table.children].slice(0, 2).map((part) => part.cloneNode(true)));
  for (const cell of first.querySelectorAll('[width]')) cell.removeAttribute('width');
  first.className = 'measured';
  first.style.minWidth = '';
  table.after(first);
  const widthsFor = (whole: string) => {
    first.style.width = whole;
    return [...first.tHead!.rows[0]!.cells].map((cell) => cell.getBoundingClientRect().width);
  };
  const [found, least] = [widthsFor(`${width}px`), widthsFor('min-content')];
  first.remove();
  const whole = found.reduce((sum, each) => sum + each, 0);
  if (whole === 0) return { parts: found.map(() => 1 / found.length), least: 0 };
  const parts = found.map((each) => each / whole);
  return { parts, least: Math.ceil(Math.max(...least.map((each, at) => each / parts[at]!))) };
}

interface RowsProps extends Pick<Props, 'table' | 'render'> {
  part: 'thead' | 'tbody';
  rows: Tokens.TableCell[][];
  columns: Columns | undefined;
}

const Rows = memo(
  ({ part: Part, table, rows, columns, render }: RowsProps) => {
    // What is cut out below begins with the first tag of its kind. The head is not before it: an address in a head may have that
    // tag in it, and older browsers write the attribute that holds it as it is.
    const html = render({ ...table, ...(Part === 'tbody' && { header: [] }), rows, columns });
    const from = html.indexOf(`<${Part}>`);
    const inner = from < 0 ? '' : html.slice(from + Part.length + 2, html.lastIndexOf(`</${Part}>`));
    return <Part {...(columns && { role: 'rowgroup' })} dangerouslySetInnerHTML={{ __html: inner }} />;
  },
  (before, next) =>
    before.columns === next.columns &&
    before.rows.length === next.rows.length &&
    before.rows.every((row, at) => row === next.rows[at]) &&
    (before.rows.length > 0 || before.table.header.map(({ text }) => text).join('|') === next.table.header.map(({ text }) => text).join('|')),
);
