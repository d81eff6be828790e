// What a request was made of: each part with its size and where it came from, and what was left out and why.
import { useState } from 'preact/hooks';
import { seconds } from '../store/turn_record.js';
import { linear } from './scale.js';
import { inOrder } from './timeline.js';
import { useWidth } from './timeline_view.js';
import { bytes, type Block, type Trace } from './trace.js';

const HEIGHT = 14;
/** The colours that follow each other; see inspector.css. */
const SHADES = 6;

/** `retrieval` and `input` hold what other blocks tell in parts, or what stands in the turn's own blocks. */
const isPart = ({ Block: name, Bytes, LeftOut }: Block): boolean => LeftOut === undefined && Bytes > 0 && name !== 'retrieval';

export function CompositionView({ trace }: { trace: Trace }) {
  const [chosen, choose] = useState(-1);
  const call = trace.ModelCalls[chosen];
  const blocks = call?.Composition ?? trace.Composition;
  const parts = blocks.filter(isPart);
  const rest = blocks.filter((block) => !isPart(block));
  const sum = parts.reduce((all, { Bytes }) => all + Bytes, 0);
  return (
    <>
      <div class="tabs" role="group" aria-label="Request">
        <Tab label="The message" isChosen={!call} choose={() => choose(-1)} />
        {inOrder(trace.ModelCalls).map(({ call: each, index, name }) => (
          <Tab key={each.Number} label={name} isChosen={call === each} choose={() => choose(index)} />
        ))}
      </div>
      <Stacked parts={parts} sum={sum} />
      <p class="muted">
        {call ? `${bytes(call.BodyBytes)} were sent to the model${call.PreviousResponseId ? ', as a continuation of what it had' : ', the whole conversation'}.` : `${bytes(sum)} in ${parts.length} blocks.`}
      </p>
      <ul class="blocks">
        {parts.map((block, at) => (
          <Row key={at} block={block} shade={at % SHADES} share={block.Bytes / sum} />
        ))}
        {rest.map((block, at) => (
          <Row key={`rest-${at}`} block={block} />
        ))}
      </ul>
    </>
  );
}

const Tab = ({ label, isChosen, choose }: { label: string; isChosen: boolean; choose(): void }) => (
  <button type="button" aria-pressed={isChosen} onClick={choose}>
    {label}
  </button>
);

function Stacked({ parts, sum }: { parts: readonly Block[]; sum: number }) {
  const [place, width] = useWidth<HTMLDivElement>();
  const x = linear([0, Math.max(1, sum)], [0, width]);
  let from = 0;
  return (
    <div ref={place} class="picture">
      <svg class="stacked" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`Blocks by size: ${parts.map(({ Block: name, Bytes }) => `${name} ${bytes(Bytes)}`).join(', ')}`}>
        {parts.map(({ Bytes }, at) => {
          const left = x(from);
          from += Bytes;
          return <rect key={at} class={`shade-${at % SHADES}`} x={left} y={0} width={Math.max(1, x(from) - left - 1)} height={HEIGHT} />;
        })}
      </svg>
    </div>
  );
}

const words = (name: string): string => name.replaceAll('_', ' ');

function Row({ block, shade, share }: { block: Block; shade?: number; share?: number }) {
  const { Block: name, Source, Bytes, LeftOut, DurationMs } = block;
  const why = LeftOut ?? (DurationMs !== undefined ? `Found ${bytes(Bytes)} in ${seconds(DurationMs)}.` : undefined);
  return (
    <li class={LeftOut === undefined ? '' : 'left-out'}>
      <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
        <rect class={shade === undefined ? 'empty' : `shade-${shade}`} x="0.75" y="0.75" width="8.5" height="8.5" rx="2.5" />
      </svg>
      <span>
        <strong>{words(name)}</strong>
        <small>{Source}</small>
        {why && <small class="why">{LeftOut === undefined ? why : `Left out: ${why}.`}</small>}
      </span>
      {share !== undefined && (
        <span class="size">
          {bytes(Bytes)}
          <small>{share < 0.01 ? '< 1' : Math.round(share * 100)} %</small>
        </span>
      )}
    </li>
  );
}
