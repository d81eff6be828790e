// The turn's time as a picture: one row for each thing that happened.
import { scaleLinear } from 'd3-scale';
import { useEffect, useRef, useState } from 'preact/hooks';
import { seconds } from '../store/turn_record.js';
import type { Timeline } from './timeline.js';

const ROW = 38;
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

export function TimelineView({ timeline: { rows, totalMs } }: { timeline: Timeline }) {
  const [place, width] = useWidth<HTMLDivElement>();
  const x = scaleLinear([0, totalMs], [0, width - 1]);
  const ticks = x.ticks(Math.max(2, Math.floor(width / TICK_EVERY_PX))).filter((ms) => width - x(ms) > TICK_EVERY_PX / 2 || ms === 0);
  const height = rows.length * ROW + AXIS;
  const whole = rows.map(({ name, told }) => `${name}: ${told}`).join('; ');
  return (
    <div ref={place} class="picture">
      <svg class="timeline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Timeline of ${seconds(Math.round(totalMs))}. ${whole}`}>
        {rows.map((row, at) => (
          <g key={at} transform={`translate(0 ${at * ROW})`}>
            <text class="name" x={0} y={14}>
              {row.name}
              <tspan class="told" dx={8}>
                {fitting(row.told, width - row.name.length * 8 - 8)}
              </tspan>
              <title>{row.told}</title>
            </text>
            <rect class="track" x={0} y={20} width={width} height={BAR} rx={BAR / 2} />
            {ticks.map((ms) => ms > 0 && <line key={ms} class="grid" x1={x(ms)} x2={x(ms)} y1={20} y2={20 + BAR} />)}
            {row.spans.map(({ from, to, look }, index) => (
              <rect key={index} class={`span ${look}`} x={Math.min(x(from), width - LEAST)} y={20} width={Math.max(LEAST, x(to) - x(from))} height={BAR} rx={Math.min(BAR / 2, Math.max(1, (x(to) - x(from)) / 2))} />
            ))}
            {row.mark !== undefined && <line class="mark" x1={x(row.mark)} x2={x(row.mark)} y1={17} y2={20 + BAR + 3} />}
          </g>
        ))}
        {ticks.map((ms) => (
          <text key={ms} class="tick" x={x(ms)} y={height - 4}>
            {seconds(ms)}
          </text>
        ))}
      </svg>
    </div>
  );
}

/** The widest a character of the small text is, in pixels. */
const CHARACTER = 6.4;
function fitting(text: string, width: number): string {
  const most = Math.max(8, Math.floor(width / CHARACTER));
  return text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;
}
