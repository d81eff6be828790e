// Tools as cards: what the service runs, and what it asks this page to run.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { SubmittedToolResult, ToolCall, ToolResult } from '../../../typescript/src/index.js';
import { tooLarge } from '../store/attachments.js';
import { isLost } from '../store/connection.js';
import { fetchArguments } from '../store/call_arguments.js';
import { answer, takeBack } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import { outlivesPage } from '../store/outbox.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { READY } from '../store/ready_tools.js';
import { deciderOf } from '../store/tabs.js';
import { pauseMs, seconds, standingOf, type Answering, type ClientCall, type Step } from '../store/turn_record.js';
import { Icon } from './icon.js';
import { Json } from './json_text.js';
import { onlyFirst } from './press.js';
import { agreed } from './question.js';
import { OUTLIVES } from './unsent_card.js';

type ServerStep = Extract<Step, { kind: 'server_tool' }>;

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

/** The forms of a call that a client answers; which one is shown follows from how the call stands. */
interface Forms {
  question(refused: Extract<Answering, { at: 'asked' }>['refused']): ComponentChildren;
  /** An answer that the service does not have yet. */
  given(answer: SubmittedToolResult): { by: string; state: string; inside: ComponentChildren };
  /** An answer that counts. */
  told(answer: SubmittedToolResult): ComponentChildren;
}

/** A call that a client answers, as it stands. `name` and `json`: what is called. */
export function Call({ turn, step, name, json, forms }: { turn: ShownTurn; step: ClientCall; name: string; json: string; forms: Forms }) {
  const standing = standingOf(step, turn.record.value);
  switch (standing.at) {
    case 'coming':
      return null;
    case 'asked':
      return <>{forms.question(standing.refused)}</>;
    case 'decided':
    case 'sending':
      return <Given turn={turn} call={step.call.ToolCallId} at={standing.at} name={name} given={forms.given(standing.answer)} />;
    case 'taken':
      return <>{forms.told(standing.answer)}</>;
    case 'elsewhere':
      return standing.answer ? <>{forms.told(standing.answer)}</> : <Closed name={name} json={json} by="answered elsewhere first" state="asking by whom…" tone="busy" />;
    case 'unanswered':
      return <Closed name={name} json={json} by="waited for you" state="not answered" tone="bad" />;
  }
}

/** A call without an answer to show. */
const Closed = ({ json, ...head }: Omit<CardProps, 'children'> & { json: string }) => (
  <FoldedCard {...head}>
    <Arguments json={json} />
  </FoldedCard>
);

const WAITS = { decided: 'waits for the other calls', sending: 'being sent' } as const;

/** An answer that the service does not have yet, and for what it waits. */
function Given({ turn, call, at, name, given }: { turn: ShownTurn; call: string; at: keyof typeof WAITS; name: string; given: ReturnType<Forms['given']> }) {
  return (
    <div class="given" role="group" aria-label={`Your answer to ${name}`}>
      <FoldedCard name={name} by={given.by} state={`${given.state} · ${WAITS[at]}`} tone="busy">
        {given.inside}
      </FoldedCard>
      {at === 'decided' ? (
        <p class="note">
          It is sent together with your answers to the other calls{OUTLIVES[`${outlivesPage.value}`]}
          <button type="button" class="plain" onClick={() => takeBack(turn, call)}>
            Answer anew
          </button>
        </p>
      ) : (
        isLost.value && <p class="note">It waits for the network. It is sent by itself{OUTLIVES[`${outlivesPage.value}`]}</p>
      )}
    </div>
  );
}

export function ClientTool({ turn, step }: { turn: ShownTurn; step: ClientCall }) {
  const { Name, ArgumentsJson, ToolCallId } = step.call;
  const inside = (answer: SubmittedToolResult) => (
    <>
      <Arguments json={ArgumentsJson} />
      <Result result={answer} />
    </>
  );
  const told = (answer: SubmittedToolResult) => (
    <FoldedCard name={Name} by={RAN_BY[deciderOf(ToolCallId) ?? 'elsewhere']} state={`${wordOf(answer)} · ${seconds(answer.ExecutionMs)}`} tone={isFailed(answer) ? 'bad' : 'good'}>
      {inside(answer)}
    </FoldedCard>
  );
  const forms: Forms = {
    question: (refused) => <ToolQuestion turn={turn} call={step.call} refused={refused} />,
    given: (answer) => ({ by: 'run by this page', state: wordOf(answer), inside: inside(answer) }),
    told,
  };
  return <Call turn={turn} step={step} name={Name} json={ArgumentsJson} forms={forms} />;
}

const RAN_BY = { 'this tab': 'run by this page', 'another tab': 'run in another tab', elsewhere: 'run by the client' } as const;
const isFailed = ({ ErrorMessage }: SubmittedToolResult): boolean => ErrorMessage != null;
const wordOf = (answer: SubmittedToolResult): string => (isFailed(answer) ? 'failed' : 'done');

/** A call that the user answers: with JSON or plain text, a file, or an error. */
function ToolQuestion({ turn, call, refused }: { turn: ShownTurn; call: ToolCall; refused: Extract<Answering, { at: 'asked' }>['refused'] }) {
  const [text, setText] = useState(refused?.answer.ResultJson ?? refused?.answer.ErrorMessage ?? '');
  const id = useId();
  const [fault, setFault] = useState('');
  const give = (result: Pick<SubmittedToolResult, 'ResultJson'> | Pick<SubmittedToolResult, 'ErrorMessage'>) =>
    answer(turn, { ToolCallId: call.ToolCallId, ExecutionMs: pauseMs(turn.record.peek()), ...result } as SubmittedToolResult);
  const send = async () => {
    const isMeant = text.trim() !== '' || (await agreed('Send an empty result?', `The model is then told that ${call.Name} gave an empty text.`, 'Send it'));
    if (isMeant) give({ ResultJson: asJson(text) });
  };
  const takeFile = async (input: HTMLInputElement) => {
    const [file] = input.files ?? [];
    // The same one can be chosen again, when it can be read.
    input.value = '';
    if (!file) return;
    setFault('');
    const read = tooLarge(file) ? undefined : await file.text().catch(() => undefined);
    if (read === undefined) setFault(tooLarge(file) ?? `${file.name} could not be read.`);
    else give({ ResultJson: JSON.stringify({ path: file.name, text: read }) });
  };
  return (
    <section class="card ask question" aria-labelledby={`${id}-title`} tabIndex={-1} onClickCapture={onlyFirst}>
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
      {fault && <p class="fault" role="alert">{fault}</p>}
      <div class="actions">
        <button type="button" class="primary" onClick={send}>
          Send result
        </button>
        <label class="button">
          <input type="file" class="hidden" onChange={(event) => takeFile(event.currentTarget)} />
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
