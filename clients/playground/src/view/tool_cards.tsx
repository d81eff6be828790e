// Tools as cards: what the service runs, and what it asks this page to run.
import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import type { SubmittedToolResult, ToolResult } from '../../../typescript/src/index.js';
import { answer, failureOf, fetchArguments } from '../store/conversation.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { READY } from '../store/ready_tools.js';
import { isLive, seconds, type Step } from '../store/turn_record.js';
import { Icon } from './icon.js';
import { Json } from './json_text.js';

type ServerStep = Extract<Step, { kind: 'server_tool' }>;
type ClientStep = Extract<Step, { kind: 'client_call' }>;

const WORDS = { runs: 'running', done: 'done', failed: 'failed' } as const;

interface CardProps {
  name: string;
  by: string;
  state: string;
  tone: 'busy' | 'good' | 'bad' | 'ask';
  children: ComponentChildren;
  onOpen?(): void;
}

/** A folded card: name and state in its head, arguments and result inside. */
function FoldedCard({ name, by, state, tone, children, onOpen }: CardProps) {
  return (
    <details class={`card ${tone}`} onToggle={(event) => (event.target as HTMLDetailsElement).open && onOpen?.()}>
      <summary>
        <Icon name="tool" />
        <code>{name}</code>
        <span class="by">{by}</span>
        <span class="state">{state}</span>
        <Icon name="chevron" />
      </summary>
      <div class="card-body">{children}</div>
    </details>
  );
}

function Arguments({ json }: { json: string }) {
  return /^\s*\{\s*\}\s*$/.test(json) ? <p class="muted">Without arguments.</p> : <Labelled label="Arguments" json={json} />;
}

const Labelled = ({ label, json }: { label: string; json: string }) => (
  <>
    <p class="label">{label}</p>
    <Json json={json} />
  </>
);

function Result({ result }: { result: ToolResult | SubmittedToolResult }) {
  if (result.ErrorMessage != null) return <p class="fault" dir="auto">{result.ErrorMessage}</p>;
  return <Labelled label="Result" json={result.ResultJson ?? 'null'} />;
}

export function ServerTool({ turn, step }: { turn: ShownTurn; step: ServerStep }) {
  const [fault, setFault] = useState('');
  const fetchThem = () => {
    if (step.argumentsJson === undefined) fetchArguments(turn).catch((error) => setFault(failureOf(error).message));
  };
  const tone = step.state === 'runs' ? 'busy' : step.state === 'done' ? 'good' : 'bad';
  const state = `${WORDS[step.state]}${step.ms === undefined ? '' : ` · ${seconds(step.ms)}`}`;
  return (
    <FoldedCard name={step.name} by="run by the service" state={state} tone={tone} onOpen={fetchThem}>
      {step.argumentsJson !== undefined && <Arguments json={step.argumentsJson} />}
      {step.result && <Result result={step.result} />}
      {step.argumentsJson === undefined && !step.result && <p class="muted">{fault || 'Asking for the arguments…'}</p>}
    </FoldedCard>
  );
}

export function ClientTool({ turn, step }: { turn: ShownTurn; step: ClientStep }) {
  const { call, answer: given, isTold } = step;
  if (!given && turn.record.value.status === 'awaiting_tools') return <ToolQuestion turn={turn} step={step} />;
  if (!given) return isLive(turn.record.value) ? null : <Unanswered name={call.Name} json={call.ArgumentsJson} />;
  const isFailed = given.ErrorMessage != null;
  const state = `${isFailed ? 'failed' : 'done'} · ${seconds(given.ExecutionMs)}`;
  return (
    <FoldedCard name={call.Name} by={isTold ? 'run by the client' : 'run by this page'} state={state} tone={isFailed ? 'bad' : 'good'}>
      <Arguments json={call.ArgumentsJson} />
      <Result result={given} />
    </FoldedCard>
  );
}

/** A call whose turn ended, or went on elsewhere, before it was answered here. */
export const Unanswered = ({ name, json }: { name: string; json: string }) => (
  <FoldedCard name={name} by="waited for you" state="not answered" tone="bad">
    <Arguments json={json} />
  </FoldedCard>
);

/** A call that the user answers: with JSON or plain text, a file, or an error. */
function ToolQuestion({ turn, step: { call, refused } }: { turn: ShownTurn; step: ClientStep }) {
  const [text, setText] = useState(refused?.answer.ResultJson ?? '');
  const since = useRef(performance.now());
  const id = useId();
  const give = (result: Pick<SubmittedToolResult, 'ResultJson'> | Pick<SubmittedToolResult, 'ErrorMessage'>) =>
    answer(turn, { ToolCallId: call.ToolCallId, ExecutionMs: Math.round(performance.now() - since.current), ...result } as SubmittedToolResult);
  const takeFile = async (file: File | undefined) => {
    if (file) give({ ResultJson: JSON.stringify({ path: file.name, text: await file.text() }) });
  };
  return (
    <section class="card ask question" aria-labelledby={`${id}-title`} tabIndex={-1}>
      <h3 id={`${id}-title`}>
        <Icon name="tool" />
        <span>
          The agent calls <code>{call.Name}</code>
        </span>
      </h3>
      <p class="muted">{READY.find(({ name }) => name === call.Name)?.left ?? 'This page does not run it, so you answer for it.'}</p>
      <Arguments json={call.ArgumentsJson} />
      <label for={id}>Result, as JSON or as plain text</label>
      <textarea id={id} dir="auto" rows={3} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
      {refused && <p class="fault">{refused.message}</p>}
      <div class="actions">
        <button type="button" class="primary" onClick={() => give({ ResultJson: asJson(text) })}>
          Send result
        </button>
        <label class="button">
          <input type="file" class="hidden" onChange={(event) => takeFile(event.currentTarget.files?.[0])} />
          Answer with a file
        </label>
        <button type="button" class="plain" onClick={() => give({ ErrorMessage: text.trim() || 'The tool failed.' })}>
          Send as an error
        </button>
      </div>
    </section>
  );
}

/** What was typed, as JSON: itself where it is JSON, else a string of it. */
export function asJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
