// The sessions of this browser or of the signed-in user, with search, and the user's inbox of approvals.
import { computed, signal } from '@preact/signals';
import { theme } from '../store/appearance.js';
import { branchOf, type Branch } from '../store/branches.js';
import { announced, catchUp, leave, liveTurn, newId, open, sessionId } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import { forgetSession } from '../store/outbox.js';
import { aptix, version } from '../store/service.js';
import { listed, MOST_KEPT, unlist, type Listed } from '../store/session_list.js';
import { openState } from '../store/session_states.js';
import { tell } from '../store/tabs.js';
import { searchTexts, textSearch } from '../store/text_search.js';
import { THEMES, type Theme } from '../store/theme.js';
import { APPROVAL, unanswered } from '../store/turn_record.js';
import { forget } from '../store/unsent.js';
import { user } from '../store/user.js';
import { hasMore, hasMoreInInbox, inbox, listFault, rename, searched, showFurther } from '../store/user_sessions.js';
import { Icon } from './icon.js';
import { titleOf } from '../branching/branching.js';
import { isHelpOpen } from './help.js';
import { agreed, written } from './question.js';
import { focusMessage } from './screen.js';
import { TextResults } from './text_results.js';
import { isEnter } from './typing.js';
import { UserMenu } from './user_menu.js';

export const isSidebarOpen = signal(false);
/** The sessions that are shown at first, and with each further step. */
const STEP = 100;
const shown = signal(STEP);
searched.subscribe(() => (shown.value = STEP));
const fault = signal('');
/** Of a user's sessions, whether all are shown or those that wait for a decision. */
const isInbox = signal(false);
user.subscribe(() => (isInbox.value = false));
/** What waits for a decision. Of the open session the page knows more than a list that was fetched a while ago. */
const waiting = computed(() => {
  const asks = liveTurn.value !== undefined && unanswered(liveTurn.value.record.value).some(({ Name }) => Name === APPROVAL);
  return inbox.value.filter(({ id }) => id !== sessionId.value || asks);
});

/** Leaves for another session; the address names it, so that a reload comes back to it. */
export function go(id: string, isKnown: boolean): void {
  history.pushState(null, '', isKnown ? `#${id}` : location.pathname + location.search);
  isSidebarOpen.value = false;
  void open(id, isKnown);
}
export const startNew = (): void => go(newId(), false);

/** The sessions to show, and whether the service has more of them. */
function found(words: string): readonly Listed[] {
  if (user.value !== undefined) return isInbox.value ? waiting.value : listed.value;
  return listed.value.filter(({ title, id }) => `${title}\n${id}`.toLowerCase().includes(words));
}

export function Sidebar({ isHidden }: { isHidden: boolean }) {
  const words = searched.value.trim().toLowerCase();
  const all = found(words);
  const isOfUser = user.value !== undefined;
  // Titles are searched with each letter, what was said when it is asked for.
  const onKeyDown = (event: KeyboardEvent) => {
    if (isEnter(event) && words && !isInbox.value && !textSearch.value) void searchTexts();
  };
  // The service has counted out the pages of a user's list.
  const some = isOfUser ? all : all.slice(0, shown.value);
  return (
    <nav id="sidebar" class={`sidebar${isSidebarOpen.value ? ' open' : ''}`} aria-label="Sessions" inert={isHidden}>
      <header>
        <Mark />
        <strong>aptix-edge</strong>
        <button type="button" class="icon-button only-narrow" onClick={() => ((isSidebarOpen.value = false), queueMicrotask(focusMessage))}>
          <Icon name="close" />
          <span class="hidden">Close the list of sessions</span>
        </button>
      </header>
      <UserMenu onChange={startNew} />
      <button type="button" class="new" title="New session (Alt N)" aria-keyshortcuts="Alt+N" onClick={startNew}>
        <Icon name="plus" /> New session
      </button>
      <div class="search">
        <Icon name="search" />
        <input id="search" type="search" dir="auto" placeholder="Search" aria-label="Search sessions" aria-keyshortcuts="Control+K" value={searched.value} onInput={(event) => (searched.value = event.currentTarget.value)} onKeyDown={onKeyDown} />
        <kbd aria-hidden="true">Ctrl K</kbd>
      </div>
      {isOfUser && <Tabs />}
      {(fault.value || listFault.value) && <p class="fault" role="alert">{fault.value || listFault.value}</p>}
      {all.length > 0 ? (
        <ul class="sessions">
          {some.map((each) => (
            <Entry key={each.id} session={each} />
          ))}
          {isOfUser ? hasMore.value && !isInbox.value && <FurtherOfUser /> : <Further all={all.length} />}
        </ul>
      ) : (
        <p class="muted empty-list">{emptyWords(words)}</p>
      )}
      {words && !isInbox.value && <TextResults open={(id) => go(id, true)} />}
      <footer>
        <span>{version.value && `Version ${version.value}`}</span>
        <select aria-label="Theme" value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
          {THEMES.map((each) => (
            <option key={each} value={each}>
              {`${each[0]!.toUpperCase()}${each.slice(1)}`}
            </option>
          ))}
        </select>
        <button type="button" class="icon-button" title="Keys (?)" onClick={() => (isHelpOpen.value = true)}>
          <Icon name="help" />
          <span class="hidden">Keys</span>
        </button>
      </footer>
    </nav>
  );
}

function emptyWords(words: string): string {
  if (isInbox.value) return 'Nothing waits for your approval.';
  if (words) return 'No session has these words in its title.';
  return user.value === undefined ? 'Sessions of this browser stand here.' : `Sessions of ${user.value} stand here.`;
}

const Tabs = () => (
  <div class="tabs" role="group" aria-label="Which sessions">
    <button type="button" aria-pressed={!isInbox.value} onClick={() => (isInbox.value = false)}>
      All
    </button>
    <button type="button" aria-pressed={isInbox.value} onClick={() => (isInbox.value = true)}>
      {`To approve${waiting.value.length > 0 ? ` (${waiting.value.length}${hasMoreInInbox.value ? '+' : ''})` : ''}`}
    </button>
  </div>
);

const FurtherOfUser = () => (
  <li>
    <button type="button" class="plain" onClick={() => showFurther().then(() => (announced.value = `${listed.value.length} sessions are shown.`))}>
      Show more sessions
    </button>
  </li>
);

function Further({ all }: { all: number }) {
  const show = () => {
    shown.value += STEP;
    announced.value = `${Math.min(all, shown.value)} of ${all} sessions are shown.`;
  };
  if (all <= shown.value) return listed.value.length < MOST_KEPT ? null : <li class="muted">{`The newest ${MOST_KEPT.toLocaleString('en')} sessions are listed.`}</li>;
  return (
    <li>
      <button type="button" class="plain" onClick={show}>
        {`Show more of ${all.toLocaleString('en')} sessions`}
      </button>
    </li>
  );
}

const STATES: Partial<Record<NonNullable<Listed['status']>, string>> = {
  running: 'running',
  awaiting_tools: 'waits for you',
  awaiting_approval: 'waits for you',
  failed: 'failed',
};

/** What tells a branch from the session that it came from. */
const whatOf = ({ of, context }: Branch): string => [of && 'asked again', context && `under ${context}`].filter(Boolean).join(' ');

function Entry({ session: { id, title, at, status } }: { session: Listed }) {
  const isOpen = sessionId.value === id;
  // Of the open session the page knows more than a list that was fetched a while ago.
  const now = isOpen ? openState.value : status;
  const state = now && STATES[now];
  const branch = branchOf(id);
  // One that only goes on has the title of the session that it came from.
  const isNamesake = branch && branch.of === undefined && title === titleOf(branch.parent);
  return (
    <li class={isOpen ? 'current' : ''}>
      <button type="button" class="session" aria-current={isOpen ? 'page' : undefined} onClick={() => go(id, true)}>
        <span dir="auto">
          {branch && (
            <>
              <Icon name="branch" />
              <span class={isNamesake ? '' : 'hidden'}>{isNamesake ? 'Branch of ' : 'Branch: '}</span>
            </>
          )}
          {title}
        </span>
        <small>
          {state !== undefined && (
            <span class={`at ${now}`}>
              <span class="dot" aria-hidden="true" />
              {state}
            </span>
          )}
          {state !== undefined && ' · '}
          {[when(at), branch && whatOf(branch)].filter(Boolean).join(' · ')}
        </small>
      </button>
      {user.value !== undefined && (
        <button type="button" class="small rename" title="Rename this session" onClick={() => tried(() => renamed(id, title))}>
          <Icon name="pencil" />
          <span class="hidden">Rename {title}</span>
        </button>
      )}
      <button type="button" class="small erase" title="Erase this session" onClick={() => tried(() => erase(id, title))}>
        <Icon name="trash" />
        <span class="hidden">Erase {title}</span>
      </button>
    </li>
  );
}

/** Runs it, and shows why it failed. */
async function tried(run: () => Promise<void>): Promise<void> {
  fault.value = '';
  await run().catch((error) => (fault.value = failureOf(error).message));
}

async function renamed(id: string, title: string): Promise<void> {
  const next = (await written('The title of this session', title, 'Rename'))?.trim();
  if (!next || next === title) return;
  await rename(id, next);
  tell(id);
}

async function erase(id: string, title: string): Promise<void> {
  if (!(await agreed(`Erase “${title}”?`, 'It is erased from the service, with all that was said in it. Nothing brings it back.'))) return;
  // A turn that ends with its session would have the words sent that wait for its end.
  if (sessionId.peek() === id) leave();
  await aptix.session(id).erase().catch((error: { code?: string }) => {
    if (error.code === 'session_not_found') return;
    if (sessionId.peek() === id) void catchUp().catch(() => {});
    throw error;
  });
  tell(id);
  unlist(id);
  // Before another one is opened: what waits elsewhere is sent then, and would begin the erased session anew.
  forgetSession(id);
  if (sessionId.value === id) startNew();
  forget(id);
  // What was pressed is gone.
  if (!isFocused()) document.getElementById('search')?.focus();
}

const isFocused = (): boolean => document.activeElement !== null && document.activeElement !== document.body;

const MINUTE = 60_000;
function when(at: number): string {
  const minutes = Math.floor((Date.now() - at) / MINUTE);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min ago`;
  const [then, now] = [new Date(at), new Date()];
  if (then.toDateString() === now.toDateString()) return then.toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' });
  const year = then.getFullYear() === now.getFullYear() ? undefined : 'numeric';
  return then.toLocaleDateString(undefined, { day: 'numeric', month: 'short', year });
}

const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="9" />
    <path d="M9 22 16 9l7 13M12 17.500h8" />
  </svg>
);
