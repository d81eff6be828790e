// The sessions of this browser, with search.
import { signal } from '@preact/signals';
import { announced, newId, open, sessionId } from '../store/conversation.js';
import { aptix, version } from '../store/service.js';
import { listed, MOST_KEPT, unlist, type Listed } from '../store/session_list.js';
import { failureOf } from '../store/conversation.js';
import { Icon } from './icon.js';

export const isSidebarOpen = signal(false);
const searched = signal('');
/** The sessions that are shown at first, and with each further step. */
const STEP = 100;
const shown = signal(STEP);
searched.subscribe(() => (shown.value = STEP));
const fault = signal('');

/** Leaves for another session; the address names it, so that a reload comes back to it. */
export function go(id: string, isKnown: boolean): void {
  history.pushState(null, '', isKnown ? `#${id}` : location.pathname + location.search);
  isSidebarOpen.value = false;
  void open(id, isKnown);
}
export const startNew = (): void => go(newId(), false);

export function Sidebar({ isHidden }: { isHidden: boolean }) {
  const words = searched.value.trim().toLowerCase();
  const found = listed.value.filter(({ title, id }) => `${title}\n${id}`.toLowerCase().includes(words));
  return (
    <nav class={`sidebar${isSidebarOpen.value ? ' open' : ''}`} aria-label="Sessions" inert={isHidden}>
      <header>
        <Mark />
        <strong>aptix-edge</strong>
        <button type="button" class="icon-button only-narrow" onClick={() => (isSidebarOpen.value = false)}>
          <Icon name="close" />
          <span class="hidden">Close the list of sessions</span>
        </button>
      </header>
      <button type="button" class="new" title="New session (Alt N)" aria-keyshortcuts="Alt+N" onClick={startNew}>
        <Icon name="plus" /> New session
      </button>
      <div class="search">
        <Icon name="search" />
        <input id="search" type="search" placeholder="Search" aria-label="Search sessions" aria-keyshortcuts="Control+K" value={searched.value} onInput={(event) => (searched.value = event.currentTarget.value)} />
        <kbd aria-hidden="true">Ctrl K</kbd>
      </div>
      {fault.value && <p class="fault" role="alert">{fault.value}</p>}
      {found.length > 0 ? (
        <ul class="sessions">
          {found.slice(0, shown.value).map((each) => (
            <Entry key={each.id} session={each} />
          ))}
          {found.length > shown.value ? (
            <li>
              <button type="button" class="plain" onClick={() => showMore(found.length)}>
                {`Show more of ${found.length.toLocaleString('en')} sessions`}
              </button>
            </li>
          ) : (
            listed.value.length >= MOST_KEPT && <li class="muted">{`The newest ${MOST_KEPT.toLocaleString('en')} sessions are listed.`}</li>
          )}
        </ul>
      ) : (
        <p class="muted empty-list">{words ? 'No session has these words in its title.' : 'Sessions of this browser stand here.'}</p>
      )}
      <footer>{version.value && `Version ${version.value}`}</footer>
    </nav>
  );
}

function showMore(found: number): void {
  shown.value += STEP;
  announced.value = `${Math.min(found, shown.value)} of ${found} sessions are shown.`;
}

function Entry({ session: { id, title, at } }: { session: Listed }) {
  const isOpen = sessionId.value === id;
  return (
    <li class={isOpen ? 'current' : ''}>
      <button type="button" class="session" aria-current={isOpen ? 'page' : undefined} onClick={() => go(id, true)}>
        <span>{title}</span>
        <small>{when(at)}</small>
      </button>
      <button type="button" class="small erase" title="Erase this session" onClick={() => erase(id, title)}>
        <Icon name="trash" />
        <span class="hidden">Erase {title}</span>
      </button>
    </li>
  );
}

async function erase(id: string, title: string): Promise<void> {
  if (!confirm(`Erase “${title}” from the service, with all that was said in it?`)) return;
  fault.value = '';
  try {
    await aptix.session(id).erase();
  } catch (error) {
    const failure = failureOf(error);
    if (failure.code !== 'session_not_found') {
      fault.value = failure.message;
      return;
    }
  }
  unlist(id);
  if (sessionId.value === id) startNew();
}

const MINUTE = 60_000;
function when(at: number): string {
  const minutes = Math.floor((Date.now() - at) / MINUTE);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min ago`;
  return new Date(at).toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
}

const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="9" />
    <path d="M9 22 16 9l7 13M12 17.500h8" />
  </svg>
);
