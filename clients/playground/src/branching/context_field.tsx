// A field for the id of a conversation context, which offers and names those that are known.
import { useId } from 'preact/hooks';
import { branches } from '../store/branches.js';
import { metContexts, toldContexts } from '../store/contexts.js';
import * as settings from '../store/settings.js';

function knownContexts(): string[] {
  const met = [...toldContexts, ...metContexts.value, settings.conversationContext.value, ...branches.value.map(({ context }) => context)];
  return [...new Set(met.filter((id) => id !== undefined && id !== ''))] as string[];
}

export function ContextField({ value, hint, isDisabled = false, onChange }: { value: string; hint: string; isDisabled?: boolean; onChange(value: string): void }) {
  const id = useId();
  const known = knownContexts();
  return (
    <div class="field">
      <label for={id}>Conversation context</label>
      <input id={id} list={`${id}-known`} value={value} disabled={isDisabled} spellcheck={false} autocomplete="off" aria-describedby={`${id}-hint`} onInput={(event) => onChange(event.currentTarget.value)} />
      <datalist id={`${id}-known`}>
        {known.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <small id={`${id}-hint`}>
        {hint} {known.length > 0 ? `Known to this page: ${known.join(', ')}.` : 'The service lists its contexts nowhere; the page remembers those that it meets.'}
      </small>
    </div>
  );
}
