// An approval: the exact call that waits, and the user's decision about it (interface §12).
import { useId, useRef, useState } from 'preact/hooks';
import type { ToolCall } from '../../../typescript/src/index.js';
import { answer, type ShownTurn } from '../store/conversation.js';
import type { Step } from '../store/turn_record.js';
import { Icon } from './icon.js';
import { Code } from './markdown.js';
import { Unanswered } from './tool_cards.js';

interface Asked {
  Name: string;
  Arguments: unknown;
  Message?: string;
  AllowEdit?: boolean;
}

const readAsked = ({ ArgumentsJson }: ToolCall): Asked => {
  try {
    return JSON.parse(ArgumentsJson) as Asked;
  } catch {
    return { Name: 'a tool', Arguments: ArgumentsJson };
  }
};
const readObject = (text: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

export function Approval({ turn, step }: { turn: ShownTurn; step: Extract<Step, { kind: 'client_call' }> }) {
  const asked = readAsked(step.call);
  if (step.answer) return <Decided asked={asked} json={step.answer.ResultJson ?? undefined} />;
  if (turn.record.value.status === 'awaiting_tools') return <Question turn={turn} call={step.call} asked={asked} />;
  return <Unanswered name={asked.Name} json={JSON.stringify(asked.Arguments)} />;
}

function Decided({ asked, json }: { asked: Asked; json: string | undefined }) {
  const decision = readObject(json ?? '') as { Approved?: boolean; Reason?: string; Arguments?: object } | undefined;
  const isApproved = decision?.Approved === true;
  const words = isApproved ? (decision.Arguments ? 'approved with changes' : 'approved') : 'refused';
  return (
    <details class={`card ${isApproved ? 'good' : 'bad'}`}>
      <summary>
        <Icon name="shield" />
        <code>{asked.Name}</code>
        <span class="by">you decided</span>
        <span class="state">{words}</span>
        <Icon name="chevron" />
      </summary>
      <div class="card-body">
        <Code text={JSON.stringify(decision?.Arguments ?? asked.Arguments, null, 2)} />
        {decision?.Reason && <p>{decision.Reason}</p>}
      </div>
    </details>
  );
}

function Question({ turn, call, asked }: { turn: ShownTurn; call: ToolCall; asked: Asked }) {
  const id = useId();
  const since = useRef(performance.now());
  const [edited, setEdited] = useState<string>();
  const [reason, setReason] = useState('');
  const changed = edited === undefined ? undefined : readObject(edited);
  const isWrong = edited !== undefined && !changed;
  const decide = (decision: object) =>
    answer(turn, {
      ToolCallId: call.ToolCallId,
      ExecutionMs: Math.round(performance.now() - since.current),
      ResultJson: JSON.stringify(decision),
    });
  const whole = JSON.stringify(asked.Arguments, null, 2);
  return (
    <section class="card ask question" aria-labelledby={`${id}-title`} tabIndex={-1}>
      <h3 id={`${id}-title`}>
        <Icon name="shield" />
        <span>
          May the agent call <code>{asked.Name}</code>?
        </span>
      </h3>
      {asked.Message && <p>{asked.Message}</p>}
      {edited === undefined ? (
        <Code text={whole} />
      ) : (
        <>
          <label for={`${id}-edit`}>Arguments, a JSON object</label>
          <textarea id={`${id}-edit`} class="mono" rows={Math.min(12, edited.split('\n').length + 1)} value={edited} spellcheck={false} aria-invalid={isWrong} onInput={(event) => setEdited(event.currentTarget.value)} />
          {isWrong && <p class="fault">This is no JSON object.</p>}
        </>
      )}
      <label for={`${id}-reason`}>Reason, if you refuse</label>
      <input id={`${id}-reason`} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      <div class="actions">
        <button type="button" class="primary" disabled={isWrong} onClick={() => decide({ Approved: true, ...(changed && { Arguments: changed }) })}>
          Approve
        </button>
        <button type="button" onClick={() => decide({ Approved: false, ...(reason.trim() && { Reason: reason.trim() }) })}>
          Refuse
        </button>
        {asked.AllowEdit && edited === undefined && (
          <button type="button" class="plain" onClick={() => setEdited(whole)}>
            Change the arguments
          </button>
        )}
      </div>
    </section>
  );
}
