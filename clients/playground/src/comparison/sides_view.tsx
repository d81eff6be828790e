// Two runs beside each other: what was said, what was called, what it cost; what differs is marked.
import { linkTo } from '../store/address.js';
import { differenceOf, type Figures } from '../store/figures.js';
import { answerOf, isLive, seconds, wordsFor } from '../store/turn_record.js';
import { Json } from '../view/json_text.js';
import { Markdown } from '../view/markdown.js';
import { Icon } from '../view/icon.js';
import { look, type Side, type Sides } from './comparison.js';
import { TextsView } from './texts_view.js';
import { callsMissingIn, type CalledTool, type Run } from './run.js';

export function SidesView({ sides, leave }: { sides: Sides; leave(): void }) {
  const [left, right] = sides.map(({ place, run: { value: run } }) => (run && !(place && isLive(run)) ? run : undefined));
  return (
    <div class="compared">
      <p class="verdict" role="status">{left && right ? verdictOf(left, right) : 'What differs is told when both have ended.'}</p>
      {left && right && <FiguresView left={left} right={right} sides={sides} />}
      <div class="sides">
        {sides.map((side, at) => (
          <SideView key={at} side={side} leave={leave} />
        ))}
      </div>
      {left && right && left.text !== right.text && <TextsView left={left.text} right={right.text} names={[sides[0].name, sides[1].name]} />}
      {left && right && left.tools.length + right.tools.length > 0 && <AllCalls left={left} right={right} sides={sides} />}
    </div>
  );
}

function verdictOf(left: Run, right: Run): string {
  const said = left.text === right.text ? 'Both say the same.' : 'They say different things.';
  if (left.tools.length + right.tools.length === 0) return said;
  const areSame = callsMissingIn(right.tools, left.tools).size + callsMissingIn(left.tools, right.tools).size === 0;
  return `${said} They made ${areSame ? 'the same' : 'different'} calls.`;
}

function SideView({ side, leave }: { side: Side; leave(): void }) {
  const { name, place, run, record, fault } = side;
  const held = run.value;
  const text = held?.text ?? (record && answerOf(record.value)) ?? '';
  // Of a run of which the page has lost sight, the service knows what has become.
  const status = held?.status ?? (record?.value.status === 'lost' ? 'lost' : fault.value ? 'failed' : 'running');
  return (
    <section class="side" aria-label={name} data-status={status}>
      <h2 dir="auto">{name}</h2>
      <p class="muted">
        {[wordsFor(status), held?.mode].filter(Boolean).join(' · ')}
        {place && <> · <a href={linkTo(place)} onClick={leave}>Open it</a></>}
      </p>
      {place && status === 'awaiting_tools' && (
        <p class="notice">
          <Icon name="warning" /> It waits for an answer of yours. Open it, answer, and come back to compare both.
        </p>
      )}
      {(fault.value || held?.failure) && <p class="fault">{fault.value || held?.failure}</p>}
      {place && (fault.value || (held && isLive(held))) && (
        <button type="button" onClick={() => look({ ...side, place })}>
          Look again
        </button>
      )}
      <Markdown text={text} isGrowing={!held} />
      {!held && !fault.value && !text && <p class="muted">Nothing has come yet.</p>}
    </section>
  );
}

const count = (value: number): string => value.toLocaleString('en');
const FIGURES: readonly [name: keyof Figures, shown: string, write: (value: number) => string][] = [
  ['tokensIn', 'tokens in', count],
  ['cached', 'of them cached', count],
  ['tokensOut', 'tokens out', count],
  ['reasoning', 'of them reasoning', count],
  ['modelCalls', 'model calls', count],
  ['toolCalls', 'tool calls', count],
  ['modelMs', 'time of the model', seconds],
  ['ms', 'time in all', seconds],
];

interface Ended {
  left: Run;
  right: Run;
  sides: Sides;
}

/** Before the texts, which may be long. */
const FiguresView = ({ left, right, sides }: Ended) => (
  <div class="table" tabIndex={0} role="group" aria-label="Figures of both runs">
    <table>
      <thead>
        <tr>
          <th scope="col">
            <span class="hidden">Figure</span>
          </th>
          {sides.map(({ name }, at) => (
            <th key={at} scope="col" dir="auto">{name}</th>
          ))}
          <th scope="col">difference</th>
        </tr>
      </thead>
      <tbody>
        {FIGURES.map(([name, shown, write]) => (
          <tr key={name}>
            <th scope="row">{shown}</th>
            <td>{write(left.figures[name])}</td>
            <td>{write(right.figures[name])}</td>
            <td class="difference">{differenceOf(left.figures[name], right.figures[name], write)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const AllCalls = ({ left, right, sides }: Ended) => (
  <div class="sides">
    <Calls of={sides[0].name} tools={left.tools} unlike={callsMissingIn(right.tools, left.tools)} />
    <Calls of={sides[1].name} tools={right.tools} unlike={callsMissingIn(left.tools, right.tools)} />
  </div>
);

const TONES = { done: 'good', failed: 'bad', unanswered: 'bad' } as const;
const WORDS = { done: 'done', failed: 'failed', unanswered: 'not answered' } as const;

function Calls({ of, tools, unlike }: { of: string; tools: readonly CalledTool[]; unlike: ReadonlySet<CalledTool> }) {
  return (
    <section class="calls">
      <h3 dir="auto">{`Calls: ${of}`}</h3>
      <ul aria-label={`Tools of: ${of}`}>
        {tools.length === 0 && <li class="muted">No tool was called.</li>}
        {tools.map((call, at) => (
          <li key={at}>
            <details class={`card ${TONES[call.outcome]}${unlike.has(call) ? ' unlike' : ''}`}>
              <summary>
                <Icon name="tool" />
                <code>{call.name}</code>
                <span class="by">{unlike.has(call) ? 'only here' : 'on both sides'}</span>
                <span class="state">{call.outcome === 'unanswered' ? WORDS.unanswered : `${WORDS[call.outcome]} · ${seconds(call.ms)}`}</span>
                <Icon name="chevron" />
              </summary>
              <div class="card-body">
                <p class="label">Arguments</p>
                <Json json={call.argumentsJson} />
                {call.outcome === 'failed' && <p class="fault">{call.result}</p>}
                {call.outcome === 'done' && (
                  <>
                    <p class="label">Result</p>
                    <Json json={call.result} />
                  </>
                )}
              </div>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}
