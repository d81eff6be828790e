// The session's mode, its history, and the modes to choose from. The model changes the mode, so choosing one asks it to.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { SessionExport } from '../../../typescript/src/index.js';
import { failureOf, liveTurn, mode, send, sessionId, shownTurns } from '../store/conversation.js';
import { aptix } from '../store/service.js';
import { Icon } from './icon.js';

type Told = Pick<SessionExport, 'ModeHistory'> & { modes: { Key: string; DisplayName: string; WhenToUse: string }[] };

const isOpen = signal(false);
const told = signal<Told | undefined>(undefined);
const fault = signal('');

async function fetchModes(): Promise<void> {
  fault.value = '';
  told.value = undefined;
  try {
    const { ModeHistory, Catalog } = await aptix.session(sessionId.value).export();
    told.value = { ModeHistory, modes: Catalog?.Modes ?? [] };
  } catch (error) {
    fault.value = failureOf(error).message;
  }
}

export function ModeMenu() {
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const leave = (event: Event) => {
      if (!place.current?.contains(event.target as Node)) isOpen.value = false;
    };
    document.addEventListener('pointerdown', leave);
    return () => document.removeEventListener('pointerdown', leave);
  }, []);
  if (!mode.value || shownTurns.value.length === 0) return null;
  const toggle = () => {
    isOpen.value = !isOpen.value;
    if (isOpen.value) void fetchModes();
  };
  const leaveWith = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget && !place.current?.contains(relatedTarget as Node)) isOpen.value = false;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen.value) return;
    event.stopPropagation();
    isOpen.value = false;
    button.current?.focus();
  };
  return (
    <div class="menu" ref={place} onKeyDown={onKeyDown} onFocusOut={leaveWith}>
      <button ref={button} type="button" class="pill" aria-expanded={isOpen.value} aria-controls="modes" onClick={toggle}>
        <Icon name="mode" /> <span class="hidden">Mode:</span> {mode.value}
      </button>
      {isOpen.value && (
        <div id="modes" class="popover">
          <h2>Modes</h2>
          {fault.value && <p class="fault">{fault.value}</p>}
          {!told.value && !fault.value && <p class="muted">Asking the service…</p>}
          <ul>
            {told.value?.modes.map((each) => (
              <li key={each.Key}>
                <button type="button" aria-current={each.DisplayName === mode.value ? 'true' : undefined} disabled={liveTurn.value !== undefined} onClick={() => choose(each.DisplayName)}>
                  <strong>{each.DisplayName}</strong>
                  <small>{each.WhenToUse}</small>
                </button>
              </li>
            ))}
          </ul>
          <p class="muted">The model changes its mode itself. Choosing one asks it to, as a message of yours.</p>
        </div>
      )}
    </div>
  );
}

function choose(name: string): void {
  isOpen.value = false;
  if (name !== mode.value) send(`Switch to ${name}.`);
}
