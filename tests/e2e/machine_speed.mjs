// How much slower this machine is than the one on which bounds in milliseconds were set. Owns the piece of work by which
// machines are compared: JSON, which is what a Worker computes most.
import { quantile } from '../bench/figures.mjs';

/** What the piece of work takes where the bounds were set, in ms. */
const REFERENCE_MS = 21;

const TIMES = 7;
const WORK = JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ id: n, name: `name ${n}`, list: [n, n + 1, n * 2.5] })));

/** For bounds on a thread's own time: what this process has used of the machine, in ms. */
export const ownTime = () => Object.values(process.cpuUsage()).reduce((sum, used) => sum + used / 1000, 0);

/** The factor by which this machine is slower now, by this clock in ms, at least 1. */
export function slowness(clock = () => performance.now()) {
  const took = Array.from({ length: TIMES }, () => {
    const from = clock();
    JSON.stringify(JSON.parse(WORK));
    return clock() - from;
  });
  return Math.max(1, quantile(took, 0.5) / REFERENCE_MS);
}
