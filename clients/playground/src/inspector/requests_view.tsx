// The HTTP requests that this page made for a turn, with what the service says it spent on each (`Server-Timing`).
import { signal } from '@preact/signals';
import { attempts } from '../store/service.js';
import { seconds, type TurnRecord } from '../store/turn_record.js';

interface Timed {
  path: string;
  /** Milliseconds since the epoch. */
  began: number;
  told: string;
}

const timed = signal<readonly Timed[]>([]);
const KEPT = 200;
/** The client's clock and the browser's entries differ by no more, in ms. */
const SAME = 250;

new PerformanceObserver((list) => {
  const found = (list.getEntries() as PerformanceResourceTiming[])
    .filter(({ serverTiming }) => serverTiming.length > 0)
    .map(({ name, startTime, serverTiming }) => ({
      path: new URL(name).pathname,
      began: performance.timeOrigin + startTime,
      told: serverTiming.filter(({ duration }) => duration > 0).map(({ name: of, duration }) => `${of} ${duration} ms`).join(', '),
    }));
  timed.value = [...timed.value, ...found].slice(-KEPT);
}).observe({ type: 'resource', buffered: true });

export function RequestsView({ record: { turnId, startedAt, endedAt } }: { record: TurnRecord }) {
  // A busy page may get the head of a response when the turn has ended.
  const isOfTurn = ({ path, at, milliseconds }: { path: string; at: number; milliseconds: number }) =>
    path.includes(`/turns/${turnId}`) || (path === '/execute' && at >= startedAt && at - milliseconds <= (endedAt ?? Infinity));
  const isOfInspector = ({ path }: { path: string }) => path.endsWith('/trace') || path.endsWith(`/turns/${turnId}`);
  const made = attempts.value.filter((each) => isOfTurn(each) && !isOfInspector(each));
  if (made.length === 0) return <p class="muted">This page has made none.</p>;
  return (
    <ul class="requests">
      {made.map(({ at, method, path, status, error, attempt, milliseconds }) => {
        const told = timed.value.find((each) => each.path === path && Math.abs(each.began - (at - milliseconds)) < SAME)?.told;
        return (
          <li key={`${at} ${path}`}>
            <code>{`${method} ${path.replace(turnId, '…').replace(/\/sessions\/[^/]+/, '…')}`}</code>
            <span class={error || (status ?? 0) >= 400 ? 'fault' : ''}>{status ?? error}</span>
            <small>{[`head after ${seconds(milliseconds)}`, attempt > 1 && `attempt ${attempt}`, told].filter(Boolean).join(' · ')}</small>
          </li>
        );
      })}
    </ul>
  );
}
