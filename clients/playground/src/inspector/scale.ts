// Axes of pictures: from what is measured to pixels, with round numbers to write beside them.
import { nice, ticks } from 'd3-array';

type Span = readonly [from: number, to: number];

export interface Scale {
  (value: number): number;
  /** About so many round numbers of its span. */
  ticks(count: number): number[];
}

export function linear([from, to]: Span, [start, end]: Span): Scale {
  const place = (value: number) => (to === from ? start : start + ((value - from) / (to - from)) * (end - start));
  return Object.assign(place, { ticks: (count: number) => ticks(from, to, count) });
}

/** The span from 0 to a round number, for about so many of them. */
export const upTo = (most: number, count: number): Span => nice(0, most, count);
