// The turn's time as a picture: one row for each thing that happened.
import { useEffect, useRef, useState } from 'preact/hooks';
import { seconds } from '../store/turn_record.js';
import { linear } from './scale.js';
import type { Row, Timeline } from './timeline.js';

const ROW = 38;
/** Each further line of what is told of a row. */
const LINE = 15;
const BAR = 9;
const AXIS = 20;
/** The least pixels of a span, so that a short one is seen. */
const LEAST = 2;
const TICK_EVERY_PX = 90;

/** The width of an element in pixels, as it changes. */
export function useWidth<T extends Element>() {
  const place = useRef<T>(null);
  const [width, setWidth] = useState(320);
  useEffect(() => {
    const seen = new ResizeObserver(([entry]) => setWidth(Math.round(entry!.contentRect.width)));
    seen.observe(place.current!);
    return () => seen.disconnect();
  }, []);
  return [place, width] as const;
}

/** `opened`: the row whose input and output are shown, by what it opens. */
export function TimelineView({ timeline: { rows, totalMs }, opened, open }: { timeline: Timeline; opened: string | undefined; open(row: Row): void }) {
  const [place, width] = useWidth<HTMLDivElement>();
  const x = linear([0, totalMs], [0, width - 1]);
  const ticks = x.ticks(Math.max(2, Math.floor(width / TICK_EVERY_PX))).filter((ms) => width - x(ms) > TICK_EVERY_PX / 2 || ms === 0);
  let height = 0;
  const placed = rows.map((row) => {
    const lines = linesOf(row.told, width - row.name.length * NAME_CHARACTER - 8, width);
    const top = height;
    const bar = 20 + (lines.length - 1) * LINE;
    height += ROW + (lines.length - 1) * LINE;
    return { row, lines, top, bar, bottom: height };
  });
  height += AXIS;
  const whole = rows.map(({ name, told }) => `${name}: ${told}`).join('; ');
  return (
    <div ref={place} class="picture">
      <svg class="timeline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Timeline of ${seconds(Math.round(totalMs))}. ${whole}`}>
        {placed.map(({ row, lines: [first, ...further], top, bar }, at) => (
          <g key={at} transform={`translate(0 ${top})`}>
            <text class="name" x={0} y={14}>
              {row.name}
              <tspan class="told" dx={8}>
                {first}
              </tspan>
              {further.map((line, index) => (
                <tspan key={index} class="told" x={0} dy={LINE}>
                  {line}
                </tspan>
              ))}
            </text>
            <rect class="track" x={0} y={bar} width={width} height={BAR} rx={BAR / 2} />
            {ticks.map((ms) => ms > 0 && <line key={ms} class="grid" x1={x(ms)} x2={x(ms)} y1={bar} y2={bar + BAR} />)}
            {row.spans.map(({ from, to, look }, index) => (
              <rect key={index} class={`span ${look}`} x={Math.min(x(from), width - LEAST)} y={bar} width={Math.max(LEAST, x(to) - x(from))} height={BAR} rx={Math.min(BAR / 2, Math.max(1, (x(to) - x(from)) / 2))} />
            ))}
            {row.mark !== undefined && <line class="mark" x1={x(row.mark)} x2={x(row.mark)} y1={bar - 3} y2={bar + BAR + 3} />}
          </g>
        ))}
        {ticks.map((ms) => (
          <text key={ms} class="tick" x={x(ms)} y={height - 4}>
            {seconds(ms)}
          </text>
        ))}
      </svg>
      {placed.map(
        ({ row, top, bottom }, at) =>
          row.opens && (
            <button key={at} type="button" class="row" style={{ top: `${top}px`, height: `${bottom - top}px` }} aria-expanded={opened === keyOf(row)} title="Input and output" onClick={() => open(row)}>
              <span class="hidden">{`Input and output: ${row.name}`}</span>
            </button>
          ),
      )}
    </div>
  );
}

/** What a row opens, as a text; rows without it cannot be opened. */
export const keyOf = ({ opens }: Row): string | undefined => opens && JSON.stringify(opens);

/** The width of a character, in pixels: somewhat more than most have. */
const CHARACTER = 6.6;
const NAME_CHARACTER = 7.6;

/** What is told, broken between its parts: the first line stands behind the name, the others below it. */
function linesOf(told: string, first: number, further: number): string[] {
  const lines: string[] = [''];
  for (const part of told.split(' · ')) {
    const line = lines.at(-1)!;
    const longer = line ? `${line} · ${part}` : part;
    const most = lines.length === 1 ? first : further;
    if (line && longer.length * CHARACTER > most) lines.push(part);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
