// How much slower this machine is than the one on which bounds in milliseconds were set. Owns the piece of work by which
// machines are compared: JSON, which is what a Worker computes most.
import { quantile } from '../bench/figures.mjs';

/** What the piece of work takes where the bounds were set, in ms. */
const REFERENCE_MS = 21;

const TIMES = 7;
const WORK = JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ id: n, name: `name ${n}`, list: [n, n + 1, n * 2.5] })));

/** The factor by which this machine is slower now, at least 1. */
export function slowness() {
  const took = Array.from({ length: TIMES }, () => {
    const from = performance.now();
    JSON.stringify(JSON.parse(WORK));
    return performance.now() - from;
  });
  return Math.max(1, quantile(took, 0.5) / REFERENCE_MS);
}
