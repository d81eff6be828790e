// A field for the id of a conversation context, with those that are known.
import { useId } from 'preact/hooks';
import { boundContexts } from '../store/conversation.js';
import { branches } from '../store/branches.js';
import * as settings from '../store/settings.js';

/** The contexts that this page has met: the catalog itself is told to nobody. */
function knownContexts(): string[] {
  const met = [boundContexts.value?.conversation, settings.conversationContext.value, ...branches.value.map(({ context }) => context)];
  return [...new Set(met.filter((id) => id !== undefined && id !== ''))] as string[];
}

export function ContextField({ value, hint, onChange }: { value: string; hint: string; onChange(value: string): void }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Conversation context</label>
      <input id={id} list={`${id}-known`} value={value} spellcheck={false} autocomplete="off" aria-describedby={`${id}-hint`} onInput={(event) => onChange(event.currentTarget.value)} />
      <datalist id={`${id}-known`}>
        {knownContexts().map((known) => (
          <option key={known} value={known} />
        ))}
      </datalist>
      <small id={`${id}-hint`}>{hint}</small>
    </div>
  );
}
