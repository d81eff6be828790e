// An approval: the exact call that waits, and the user's decision about it (interface §12). What is shown is the text that
// runs, and a change leaves every other token of it as it was.
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { formatJson, type SubmittedToolResult, type ToolCall } from '../../../typescript/src/index.js';
import { isSameJson, membersOf } from '../../../typescript/src/json_text.js';
import { announced, answer } from '../store/conversation.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { deciderOf } from '../store/tabs.js';
import { pauseMs, seconds, type Answering, type ClientCall, type Decision } from '../store/turn_record.js';
import { useFold, type Fold } from './fold.js';
import { Icon } from './icon.js';
import { Json, JsonText } from './json_text.js';
import { onlyFirst } from './press.js';
import { Call } from './tool_cards.js';
import { isEnter } from './typing.js';

type Refused = Extract<Answering, { at: 'asked' }>['refused'];

interface Asked {
  name: string;
  /** As it is written. */
  argumentsJson: string;
  message: string | undefined;
  allowsEdit: boolean;
}

function readAsked({ ArgumentsJson }: ToolCall): Asked {
  const members = membersOf(ArgumentsJson);
  const text = (name: string) => textOf(members.get(name));
  return {
    name: text('Name') ?? 'a tool',
    argumentsJson: members.get('Arguments') ?? ArgumentsJson,
    message: text('Message'),
    allowsEdit: members.get('AllowEdit') === 'true',
  };
}

/** The text that a JSON string is; `undefined` for any other value. */
function textOf(json: string | undefined): string | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  return typeof value === 'string' ? value : undefined;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

export function Approval({ turn, step }: { turn: ShownTurn; step: ClientCall }) {
  const asked = useMemo(() => readAsked(step.call), [step.call]);
  const forms = {
    question: (refused: Refused) => <Question turn={turn} call={step.call} refused={refused} asked={asked} />,
    given: (answer: SubmittedToolResult) => {
      const decision = decisionOf(asked, step.call, answer);
      return { by: 'your decision', state: wordsOf(decision), inside: <WhatIsDecided decision={decision} /> };
    },
    told: (answer: SubmittedToolResult) => <Decided step={decisionOf(asked, step.call, answer)} />,
  };
  return <Call turn={turn} step={step} name={asked.name} json={asked.argumentsJson} forms={forms} />;
}

/** What this page has answered, as the service will tell it. */
function decisionOf(asked: Asked, call: ToolCall, given: SubmittedToolResult): Decision {
  const decision = membersOf(given.ResultJson ?? '{}');
  const edited = decision.get('Arguments');
  const message = textOf(decision.get('Reason'));
  return {
    kind: 'decision',
    id: call.ToolCallId,
    name: asked.name,
    isApproved: decision.get('Approved') === 'true',
    argumentsJson: edited ?? asked.argumentsJson,
    isEdited: edited !== undefined,
    ...(message !== undefined && { message }),
    waitedMs: given.ExecutionMs,
  };
}

const wordsOf = ({ isApproved, isEdited }: Decision): string => (isApproved ? (isEdited ? 'approved with changes' : 'approved') : 'refused');

const WhatIsDecided = ({ decision: { argumentsJson, message } }: { decision: Decision }) => (
  <>
    <Json json={argumentsJson} />
    {message && <p dir="auto">{message}</p>}
  </>
);

/** A decision, and who made it: here, in another tab, or as the service names them. */
export function Decided({ step }: { step: Decision }) {
  const { id, name, isApproved, decidedBy, waitedMs } = step;
  const words = wordsOf(step);
  return (
    <details class={`card ${isApproved ? 'good' : 'bad'}`}>
      <summary>
        <Icon name="shield" />
        <code>{name}</code>
        <span class="by">{whoDecided(id, decidedBy)}</span>
        <span class="state">{waitedMs === undefined ? words : `${words} · ${seconds(waitedMs)}`}</span>
        <Icon name="chevron" />
      </summary>
      <div class="card-body">
        <WhatIsDecided decision={step} />
      </div>
    </details>
  );
}

function whoDecided(id: string, decidedBy: string | undefined): string {
  const place = deciderOf(id);
  if (place === 'this tab' || (place === undefined && decidedBy === undefined)) return 'you decided';
  if (place === 'another tab') return 'you decided in another tab';
  const [, kind, who] = /^(?:(key|user|actor):)?(.*)$/s.exec(decidedBy ?? '')!;
  // Where no keys are asked for, the service knows nobody.
  if (kind === 'key') return who === 'none' ? 'a human decided' : `decided with the key ${who}`;
  return `${who} decided`;
}

function Question({ turn, call, refused, asked }: { turn: ShownTurn; call: ToolCall; refused: Refused; asked: Asked }) {
  const id = useId();
  const [box, setBox] = useState<HTMLElement | null>(null);
  const [edited, setEdited] = useState(() => membersOf(refused?.answer.ResultJson ?? '').get('Arguments'));
  const [reason, setReason] = useState(() => textOf(membersOf(refused?.answer.ResultJson ?? '').get('Reason')) ?? '');
  const fold = useFold(box);
  const isWrong = edited !== undefined && !isObject(edited);
  const decide = (ResultJson: string) =>
    answer(turn, { ToolCallId: call.ToolCallId, ExecutionMs: pauseMs(turn.record.peek()), ResultJson });
  const approve = () => {
    if (!fold.isSeen) {
      box?.focus();
      announced.value = `${linesBelow(fold)} ${HOW}`;
    } else if (edited === undefined || isSameJson(edited, asked.argumentsJson)) decide('{"Approved":true}');
    else decide(`{"Approved":true,"Arguments":${edited}}`);
  };
  const refuse = () => decide(JSON.stringify({ Approved: false, ...(reason.trim() && { Reason: reason.trim() }) }));
  const refuseByEnter = (event: KeyboardEvent) => {
    if (!isEnter(event) || event.repeat) return;
    refuse();
    // Whoever writes on does so in the next card: had that one the focus, a letter would decide about it.
    queueMicrotask(() => document.querySelector<HTMLElement>('.question input:not([type="file"])')?.focus());
  };
  // Where the card itself has the focus, and not what is written in it: nobody approves by a word.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).matches('input, textarea')) return;
    const act = { a: isWrong ? undefined : approve, r: refuse }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return (
    <section class="card ask question" aria-labelledby={`${id}-title`} tabIndex={-1} onClickCapture={onlyFirst} onKeyDown={onKeyDown}>
      <h3 id={`${id}-title`}>
        <Icon name="shield" />
        <span>
          May the agent call <code>{asked.name}</code>?
        </span>
      </h3>
      {asked.message && <p dir="auto">{asked.message}</p>}
      {edited === undefined ? (
        <JsonText json={asked.argumentsJson} label={`Arguments of ${asked.name}`} describedBy={`${id}-fold`} place={setBox} />
      ) : (
        <>
          <label for={`${id}-edit`}>Arguments, a JSON object</label>
          <textarea id={`${id}-edit`} ref={setBox} class="mono whole" rows={Math.min(12, edited.split('\n').length + 1)} value={edited} spellcheck={false} aria-invalid={isWrong} aria-describedby={`${id}-fold`} onInput={(event) => setEdited(event.currentTarget.value)} />
          {isWrong && <p class="fault">This is no JSON object.</p>}
        </>
      )}
      {refused && <p class="fault">{refused.message}</p>}
      <Rest id={`${id}-fold`} fold={fold} toEnd={() => toEnd(box)} />
      <label for={`${id}-reason`}>Reason, if you refuse</label>
      <input id={`${id}-reason`} dir="auto" value={reason} onInput={(event) => setReason(event.currentTarget.value)} onKeyDown={refuseByEnter} />
      <div class="actions">
        <button type="button" class="primary" disabled={isWrong} aria-disabled={!fold.isSeen} aria-describedby={`${id}-fold`} aria-keyshortcuts="A" title="Approve (A)" onClick={approve}>
          Approve
        </button>
        <button type="button" aria-keyshortcuts="R" title="Refuse (R)" onClick={refuse}>
          Refuse
        </button>
        {asked.allowsEdit && edited === undefined && (
          <button type="button" class="plain" onClick={() => setEdited(formatJson(asked.argumentsJson))}>
            Change the arguments
          </button>
        )}
      </div>
    </section>
  );
}

const HOW = 'Scroll to the end of the arguments to approve.';
const linesBelow = ({ below }: Fold): string => `… ${below.toLocaleString('en')} more ${below === 1 ? 'line' : 'lines'} below.`;

/** What is below the fold, and a way there without a pointer. */
function Rest({ id, fold, toEnd: go }: { id: string; fold: Fold; toEnd(): void }) {
  const wasFolded = useRef(false);
  if (fold.below > 0) wasFolded.current = true;
  useEffect(() => {
    if (fold.isSeen && wasFolded.current) announced.value = 'The end of the arguments is shown. You can approve.';
  }, [fold.isSeen]);
  if (!wasFolded.current) return <p id={id} class="hidden" />;
  return (
    <div class={`rest${fold.isSeen ? '' : ' unread'}`}>
      <p id={id}>
        {fold.below > 0 ? linesBelow(fold) : 'This is the end of the arguments.'}
        {!fold.isSeen && ` ${HOW}`}
      </p>
      {fold.below > 0 && (
        <button type="button" class="plain" onClick={go}>
          Go to the end
        </button>
      )}
    </div>
  );
}

function toEnd(box: HTMLElement | null): void {
  box?.scrollTo({ top: box.scrollHeight });
  box?.focus({ preventScroll: true });
}
