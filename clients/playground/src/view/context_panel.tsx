// What goes with every turn: tools, contexts, solution context, workspace and scope.
import { useId } from 'preact/hooks';
import type { Signal } from '@preact/signals';
import { ContextField } from '../branching/context_field.js';
import { boundContexts, shownTurns } from '../store/conversation.js';
import { droppedFiles, READY } from '../store/ready_tools.js';
import * as settings from '../store/settings.js';
import type { Condition } from '../store/settings.js';
import { Icon } from './icon.js';

// The compiler asks for each of them.
const IS_OPERATOR: Record<Condition['operator'], true> = { '==': true, '!=': true, contains: true, does_not_contain: true };
const OPERATORS = Object.keys(IS_OPERATOR) as Condition['operator'][];

interface FieldProps {
  label: string;
  value: Signal<string>;
  hint?: string;
  rows?: number;
  isMono?: boolean;
  isDisabled?: boolean;
  fault?: string | undefined;
}

function Field({ label, value, hint, rows, isMono, isDisabled, fault }: FieldProps) {
  const id = useId();
  const common = {
    id,
    value: value.value,
    disabled: isDisabled,
    spellcheck: false,
    autocomplete: 'off',
    class: isMono ? 'mono' : undefined,
    dir: isMono ? undefined : ('auto' as const),
    'aria-describedby': hint ? `${id}-hint` : undefined,
    'aria-invalid': fault !== undefined,
  };
  const take = (event: { currentTarget: { value: string } }) => (value.value = event.currentTarget.value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows ? <textarea {...common} rows={rows} onInput={take} /> : <input {...common} onInput={take} />}
      {hint && <small id={`${id}-hint`}>{hint}</small>}
      {fault && <p class="fault">{fault}</p>}
    </div>
  );
}

export function ContextPanel() {
  return (
    <>
      <Tools />
      <section>
        <h3>Solution context</h3>
        <Field label="Text about the whole solution" value={settings.solution} rows={4} hint="What the agent is to know of all that you work on, in each turn. Sent when it has changed. The session keeps it; an empty one clears it." />
      </section>
      <section>
        <h3>Retrieval</h3>
        <Field label="Workspace" value={settings.workspace} hint="Turns are given the chunks of it that fit best." />
        <Scope />
      </section>
      <Contexts />
    </>
  );
}

function Tools() {
  const toggle = (name: string) => {
    const next = new Set(settings.offered.value);
    if (!next.delete(name)) next.add(name);
    settings.offered.value = next;
  };
  const isOfPage = settings.toolsFrom.value === 'page';
  return (
    <section>
      <h3>Tools of this page</h3>
      <Check label="Offer the tools of this page" hint="Otherwise the session keeps those that it was last given; a new one has those that its conversation context declares." value={isOfPage} onChange={(on) => (settings.toolsFrom.value = on ? 'page' : 'context')} />
      <fieldset disabled={!isOfPage}>
        <legend class="hidden">Ready tools</legend>
        {READY.map(({ name, shown }) => (
          <Check key={name} label={<code>{name}</code>} hint={shown} value={settings.offered.value.has(name)} onChange={() => toggle(name)} />
        ))}
      </fieldset>
      {droppedFiles.value.size > 0 && <p class="muted">Dropped: {[...droppedFiles.value.keys()].join(', ')}</p>}
      <Check label="I answer every call by hand" value={settings.answersByHand.value} onChange={(on) => (settings.answersByHand.value = on)} />
      <Field label="Further tools, which you answer" value={settings.furtherTools} rows={3} isMono hint="A JSON array of function tools: name, description, parameters." fault={settings.furtherToolsFault.value} />
    </section>
  );
}

interface CheckProps {
  label: preact.ComponentChildren;
  hint?: string;
  value: boolean;
  onChange(value: boolean): void;
}

const Check = ({ label, hint, value, onChange }: CheckProps) => (
  <label class="check">
    <input type="checkbox" checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />
    <span>
      {label}
      {hint && <small>{hint}</small>}
    </span>
  </label>
);

function Scope() {
  const list = settings.conditions;
  const change = (at: number, next: Partial<Condition>) => (list.value = list.value.map((each, i) => (i === at ? { ...each, ...next } : each)));
  return (
    <fieldset class="scope">
      <legend>Scope</legend>
      {list.value.map((condition, at) => (
        <div class="condition" key={at}>
          <input aria-label={`Key of condition ${at + 1}`} placeholder="Path, Language or a property" value={condition.key} onInput={(event) => change(at, { key: event.currentTarget.value })} />
          <select aria-label={`Operator of condition ${at + 1}`} value={condition.operator} onChange={(event) => change(at, { operator: event.currentTarget.value as Condition['operator'] })}>
            {OPERATORS.map((operator) => (
              <option key={operator}>{operator}</option>
            ))}
          </select>
          <textarea aria-label={`Values of condition ${at + 1}, one in each line`} rows={2} dir="auto" placeholder="One value in each line" value={condition.values} onInput={(event) => change(at, { values: event.currentTarget.value })} />
          <button type="button" class="small" onClick={() => (list.value = list.value.filter((_, i) => i !== at))}>
            <Icon name="close" />
            <span class="hidden">Remove condition {at + 1}</span>
          </button>
        </div>
      ))}
      <button type="button" class="plain" onClick={() => (list.value = [...list.value, { key: '', operator: '==', values: '' }])}>
        <Icon name="plus" /> Add a condition
      </button>
    </fieldset>
  );
}

function Contexts() {
  const bound = boundContexts.value;
  const hasBegun = shownTurns.value.length > 0;
  return (
    <section>
      <h3>Contexts</h3>
      {bound ? (
        <dl>
          <dt>Agent context</dt>
          <dd>{bound.agent}</dd>
          <dt>Conversation context</dt>
          <dd>{bound.conversation}</dd>
        </dl>
      ) : (
        <>
          <Field label="Agent context" value={settings.agentContext} isDisabled={hasBegun} hint="Its id in the catalog; empty for the default one." />
          <ContextField value={settings.conversationContext.value} isDisabled={hasBegun} hint="The session's first turn binds both." onChange={(id) => (settings.conversationContext.value = id)} />
        </>
      )}
    </section>
  );
}
