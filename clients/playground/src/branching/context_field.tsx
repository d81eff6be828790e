// A field for the id of a conversation context, with those that are known.
import { useId } from 'preact/hooks';
import { branches } from '../store/branches.js';
import { metContexts } from '../store/contexts.js';
import * as settings from '../store/settings.js';

function knownContexts(): string[] {
  const met = [...metContexts.value, settings.conversationContext.value, ...branches.value.map(({ context }) => context)];
  return [...new Set(met.filter((id) => id !== undefined && id !== ''))] as string[];
}

export function ContextField({ value, hint, isDisabled = false, onChange }: { value: string; hint: string; isDisabled?: boolean; onChange(value: string): void }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Conversation context</label>
      <input id={id} list={`${id}-known`} value={value} disabled={isDisabled} spellcheck={false} autocomplete="off" aria-describedby={`${id}-hint`} onInput={(event) => onChange(event.currentTarget.value)} />
      <datalist id={`${id}-known`}>
        {knownContexts().map((known) => (
          <option key={known} value={known} />
        ))}
      </datalist>
      <small id={`${id}-hint`}>{hint}</small>
    </div>
  );
}
