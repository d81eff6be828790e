// The session's mode, its history, and the modes to choose from. The model changes the mode, so choosing one asks it to.
import { signal } from '@preact/signals';
import type { SessionExport } from '../../../typescript/src/index.js';
import { liveTurn, mode, send, sessionId, shownTurns } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import { aptix } from '../store/service.js';
import { Icon } from './icon.js';
import { useMenu } from './menu.js';

type Told = Pick<SessionExport, 'ModeHistory'> & { modes: { Key: string; DisplayName: string; WhenToUse: string }[] };

const isOpen = signal(false);
const told = signal<Told | undefined>(undefined);
const fault = signal('');
// Another session has other modes.
sessionId.subscribe(() => (isOpen.value = false));

async function fetchModes(): Promise<void> {
  const session = sessionId.peek();
  fault.value = '';
  told.value = undefined;
  try {
    const { ModeHistory, Catalog } = await aptix.session(session).export();
    if (session === sessionId.peek()) told.value = { ModeHistory, modes: Catalog?.Modes ?? [] };
  } catch (error) {
    if (session === sessionId.peek()) fault.value = failureOf(error).message;
  }
}

export function ModeMenu() {
  const { place, button, onFocusOut, onKeyDown } = useMenu(isOpen);
  if (!mode.value || shownTurns.value.length === 0) return null;
  const toggle = () => {
    isOpen.value = !isOpen.value;
    if (isOpen.value) void fetchModes();
  };
  return (
    <div class="menu" ref={place} onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
      <button ref={button} type="button" class="pill" aria-expanded={isOpen.value} aria-controls="modes" onClick={toggle}>
        <Icon name="mode" /> <span class="hidden">Mode:</span> <bdi>{mode.value}</bdi>
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
                  <strong dir="auto">{each.DisplayName}</strong>
                  <small dir="auto">{each.WhenToUse}</small>
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
