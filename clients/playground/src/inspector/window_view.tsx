// The filling of the model's context window over the session: a bar for each model call.
import { fillings } from './inspected.js';
import { linear, upTo } from './scale.js';
import { useWidth } from './timeline_view.js';
import { tokens } from './trace.js';

const HEIGHT = 110;
const TOP = 14;
const BOTTOM = 4;
const LEFT = 46;
const WIDEST_BAR = 26;
/** Of a bar with what is beside it. */
const GAP = 0.25;

export function WindowView({ turnId }: { turnId: string }) {
  const [place, width] = useWidth<HTMLDivElement>();
  const calls = fillings.value;
  const most = Math.max(1, ...calls.map(({ call }) => call.Usage!.PromptTokens + call.Usage!.CompletionTokens));
  const y = linear(upTo(most, 3), [HEIGHT - BOTTOM, TOP]);
  const right = Math.min(width, LEFT + calls.length * WIDEST_BAR);
  const step = (right - LEFT) / Math.max(1, calls.length - GAP);
  const newest = calls.at(-1)?.call.Usage;
  const told = newest ? `${tokens(newest.PromptTokens)} tokens went into the newest of ${calls.length} model calls, ${tokens(newest.CompletionTokens)} came out.` : 'No model call has told its tokens yet.';
  return (
    <>
      <div ref={place} class="picture">
        {newest && (
          <svg class="window" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`Tokens of each model call of the session. ${told}`}>
            {y.ticks(3).map((count) => (
              <g key={count} transform={`translate(0 ${y(count)})`}>
                <line class="grid" x1={LEFT} x2={width} y1={0} y2={0} />
                <text class="tick" x={LEFT - 6} y={4} text-anchor="end">
                  {count >= 1000 ? `${count / 1000}k` : count}
                </text>
              </g>
            ))}
            {calls.map(({ turnId: of, call, isCompacted }, at) => {
              const { PromptTokens, CachedTokens, CompletionTokens } = call.Usage!;
              const place = { x: LEFT + at * step, width: step * (1 - GAP) };
              return (
                <g key={call.Number} class={of === turnId ? 'chosen' : ''}>
                  <title>{`Call ${call.Number}: ${tokens(PromptTokens)} in (${tokens(CachedTokens)} cached), ${tokens(CompletionTokens)} out`}</title>
                  <rect class="out" {...place} y={y(PromptTokens + CompletionTokens)} height={y(0) - y(PromptTokens + CompletionTokens)} />
                  <rect class="in" {...place} y={y(PromptTokens)} height={y(0) - y(PromptTokens)} />
                  {isCompacted && <path class="compacted" d={`M${place.x + place.width / 2 - 4} 2h8l-4 6z`} />}
                </g>
              );
            })}
          </svg>
        )}
      </div>
      {newest && (
        <p class="legend">
          <Key of="in" /> in <Key of="out" /> out {calls.some(({ isCompacted }) => isCompacted) && <><Key of="compacted" /> compacted before it</>}
        </p>
      )}
      <p class="muted">{told}</p>
    </>
  );
}

const Key = ({ of }: { of: string }) => (
  <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
    {of === 'compacted' ? <path class="compacted" d="M1 2h8L5 8.500z" /> : <rect class={of} x="0.75" y="0.75" width="8.5" height="8.5" rx="2.5" />}
  </svg>
);
