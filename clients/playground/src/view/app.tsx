// The page: sessions at the left, the conversation, and beside it the panel that is open.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { openPanel, panels, panelShown } from '../panels.js';
import { attach } from '../store/attachments.js';
import { announced, isLoading, liveTurn, loadFault, newestTurn, send, sessionId, shownTurns } from '../store/conversation.js';
import { access } from '../store/service.js';
import { listed } from '../store/session_list.js';
import { Composer } from './composer.js';
import { Icon } from './icon.js';
import { KeyDialog } from './key_dialog.js';
import { ModeMenu } from './mode_menu.js';
import { isSidebarOpen, Sidebar, startNew } from './sidebar.js';
import { TurnView } from './turn_view.js';
import { ConnectionSign } from './unsent_card.js';

/** Below this width the panel takes the place of the sessions; below the other one either covers the conversation. */
const medium = matching('(max-width: 1180px)');
const narrow = matching('(max-width: 820px)');
const isDraggedOver = signal(false);

function matching(query: string) {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => (matches.value = list.matches));
  return matches;
}

export function App() {
  useEffect(() => {
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  const covered = narrow.value && isSidebarOpen.value;
  const isMainCovered = covered || (narrow.value && openPanel.value !== undefined);
  const needsKey = access.value === 'asked' || access.value === 'refused';
  return (
    <div class={`app${openPanel.value ? ' with-panel' : ''}`} onDragOver={onDragOver} onDragLeave={() => (isDraggedOver.value = false)} onDrop={onDrop}>
      <a class="skip" href="#message" onClick={focusMessage}>
        Go to the message box
      </a>
      <Sidebar isHidden={narrow.value && !isSidebarOpen.value} />
      {covered && <div class="veil" onClick={() => (isSidebarOpen.value = false)} />}
      <main inert={isMainCovered}>
        <Head />
        <Conversation />
        <ConnectionSign />
        <Composer />
      </main>
      <PanelView isCovered={covered} />
      <p class="hidden" role="status">{announced.value}</p>
      {isDraggedOver.value && <p class="drop">Drop files to attach them</p>}
      {needsKey && <KeyDialog />}
    </div>
  );
}

function Head() {
  const title = listed.value.find(({ id }) => id === sessionId.value)?.title ?? (shownTurns.value[0]?.record.value.asked.text || 'New session');
  useEffect(() => {
    document.title = `${title} – aptix-edge`;
  }, [title]);
  return (
    <header class="head">
      <button type="button" class="icon-button only-narrow" onClick={() => (isSidebarOpen.value = true)}>
        <Icon name="menu" />
        <span class="hidden">Sessions</span>
      </button>
      <h1>{title}</h1>
      <ModeMenu />
      <div class="panel-buttons" role="group" aria-label="Panels">
        {panels.map(({ id, title: name, icon }) => (
          <button key={id} type="button" class="icon-button" title={name} aria-pressed={openPanel.value === id} onClick={() => (openPanel.value = openPanel.value === id ? undefined : id)}>
            <Icon name={icon} />
            <span class="hidden">{name}</span>
          </button>
        ))}
      </div>
    </header>
  );
}

/** How near its end, in pixels, a list counts as read to the end and goes on with what comes. */
const NEAR_PX = 80;

function Conversation() {
  const place = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const box = place.current!;
    const list = box.firstElementChild!;
    const scrolled = () => (isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX);
    const grown = new ResizeObserver(() => {
      if (isAtEnd.current) box.scrollTop = box.scrollHeight;
    });
    box.addEventListener('scroll', scrolled, { passive: true });
    grown.observe(list);
    return () => grown.disconnect();
  }, []);
  // One's own message is shown wherever one had read.
  useEffect(() => {
    isAtEnd.current = true;
    place.current!.scrollTop = place.current!.scrollHeight;
  }, [newestTurn.value]);
  const isEmpty = shownTurns.value.length === 0;
  return (
    <div class="conversation" ref={place} tabIndex={0} role="region" aria-label="Conversation">
      <div class="column" aria-busy={liveTurn.value !== undefined}>
        {isLoading.value && <p class="muted">Loading the session…</p>}
        {loadFault.value && <p class="fault">{loadFault.value}</p>}
        {isEmpty && !isLoading.value && !loadFault.value && <Welcome />}
        <ol class="turns">
          {shownTurns.value.map((turn) => (
            <TurnView key={turn.record.peek().turnId} turn={turn} />
          ))}
        </ol>
      </div>
    </div>
  );
}

/** What to say, what it shows, and what of `make dev` it needs; the address of the page tells what is there. */
const SUGGESTIONS: readonly (readonly [words: string, shows: string, needs?: 'demo-catalog' | 'stand-in'])[] = [
  ['What can you do?', 'a streamed answer'],
  ['Switch to DDR authoring.', 'the mode changes', 'demo-catalog'],
  ['Please read README.md.', 'a tool that you answer'],
  ['Call the tool send_postcard with the word Ann.', 'a call that you approve', 'demo-catalog'],
  ['Reason about it.', 'what the model thinks, folded', 'stand-in'],
  ['Give a slow answer.', 'time to reload, stop or cut it', 'stand-in'],
];
const isThere = new URLSearchParams(location.search);
const fitting = SUGGESTIONS.filter(([, , needs]) => needs === undefined || isThere.has(needs));

const Welcome = () => (
  <div class="welcome">
    <h2>What should the agent do?</h2>
    <p class="muted">Every turn is kept by the service as it happens. Reload, disconnect or come back tomorrow: it goes on.</p>
    <ul>
      {fitting.map(([words, shows]) => (
        <li key={words}>
          <button type="button" onClick={() => send(words)}>
            <strong>{words}</strong>
            <small>{shows}</small>
          </button>
        </li>
      ))}
    </ul>
  </div>
);

function PanelView({ isCovered }: { isCovered: boolean }) {
  const panel = panelShown.value;
  if (!panel) return null;
  return (
    <aside class="panel" aria-label={panel.title} inert={isCovered}>
      <header>
        <h2>{panel.title}</h2>
        <button type="button" class="icon-button" onClick={() => (openPanel.value = undefined)}>
          <Icon name="close" />
          <span class="hidden">Close {panel.title}</span>
        </button>
      </header>
      <div class="panel-body" tabIndex={0} role="region" aria-label={`${panel.title}, contents`}>
        <panel.View />
      </div>
    </aside>
  );
}

function focusMessage(event?: Event): void {
  event?.preventDefault();
  document.getElementById('message')?.focus();
}

function onKey(event: KeyboardEvent): void {
  const withControl = event.ctrlKey || event.metaKey;
  if (withControl && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    if (medium.value) openPanel.value = undefined;
    isSidebarOpen.value = true;
    // The list has to be shown before it can be focused.
    requestAnimationFrame(() => document.getElementById('search')?.focus());
  } else if (event.altKey && event.code === 'KeyN') {
    event.preventDefault();
    startNew();
  } else if (event.key === 'Escape' && (isSidebarOpen.value || openPanel.value)) {
    if (isSidebarOpen.value) isSidebarOpen.value = false;
    else openPanel.value = undefined;
    focusMessage();
  }
}

function onDragOver(event: DragEvent): void {
  if (!event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  isDraggedOver.value = true;
}

function onDrop(event: DragEvent): void {
  isDraggedOver.value = false;
  const files = [...(event.dataTransfer?.files ?? [])];
  if (files.length === 0) return;
  event.preventDefault();
  void attach(files);
}
