// The page: sessions at the left, the conversation, and beside it the panel that is open.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ComparisonDialog } from '../comparison/comparison_dialog.js';
import { openPanel, panels, panelShown } from '../panels.js';
import { attach } from '../store/attachments.js';
import { announced, sessionId, shownTurns } from '../store/conversation.js';
import { access } from '../store/service.js';
import { listed } from '../store/session_list.js';
import { closePanel } from './closing.js';
import { Composer } from './composer.js';
import { Conversation } from './conversation_view.js';
import { find, FindBar } from './find_bar.js';
import { Icon } from './icon.js';
import { KeyDialog } from './key_dialog.js';
import { Help, isHelpOpen } from './help.js';
import { useKeys } from './keys.js';
import { useMenu } from './menu.js';
import { ModeMenu } from './mode_menu.js';
import { notice } from './notice.js';
import { Question } from './question.js';
import { medium, narrow } from './screen.js';
import { Separator } from './separator.js';
import { isSidebarOpen, Sidebar } from './sidebar.js';
import { ConnectionSign } from './unsent_card.js';

const isDraggedOver = signal(false);
const isMoreOpen = signal(false);

export function App() {
  useKeys();
  const covered = narrow.value && isSidebarOpen.value;
  const isMainCovered = covered || (narrow.value && openPanel.value !== undefined);
  const needsKey = access.value === 'asked' || access.value === 'refused';
  return (
    <div class={`app${openPanel.value ? ' with-panel' : ''}`} onDragOver={onDragOver} onDragLeave={() => (isDraggedOver.value = false)} onDrop={onDrop}>
      <a class="skip" href="#message" onClick={(event) => (event.preventDefault(), document.getElementById('message')?.focus())}>
        Go to the message box
      </a>
      <Sidebar isHidden={narrow.value && !isSidebarOpen.value} />
      {covered && <div class="veil" onClick={() => (isSidebarOpen.value = false)} />}
      <main inert={isMainCovered}>
        {!narrow.value && !(medium.value && openPanel.value) && <Separator pane="sidebar" />}
        {!narrow.value && openPanel.value && <Separator key={openPanel.value} pane="panel" />}
        <Head />
        <FindBar />
        <Conversation />
        <ConnectionSign />
        <Composer />
      </main>
      <PanelView isCovered={covered} />
      <p class="hidden" role="status">{announced.value}</p>
      {isDraggedOver.value && <p class="drop">Drop files to attach them</p>}
      <ComparisonDialog />
      <Question />
      {isHelpOpen.value && <Help />}
      {needsKey && <KeyDialog />}
    </div>
  );
}

function Head() {
  const title = listed.value.find(({ id }) => id === sessionId.value)?.title ?? (shownTurns.value[0]?.record.value.asked.text || 'New session');
  useEffect(() => {
    document.title = `${notice.value}${title} – aptix-edge`;
  }, [title, notice.value]);
  return (
    <header class="head">
      <div class="head-row">
        {(narrow.value || (medium.value && openPanel.value)) && (
          <button type="button" class="icon-button" title="Sessions" onClick={showSessions}>
            <Icon name="menu" />
            <span class="hidden">Sessions</span>
          </button>
        )}
        <h1 dir="auto">{title}</h1>
        <ModeMenu />
        <PanelButtons />
      </div>
    </header>
  );
}

/** Brings the list of sessions back, in whose place a panel may be. */
function showSessions(): void {
  if (narrow.peek()) isSidebarOpen.value = true;
  else openPanel.value = undefined;
}

/** On a small screen they are a menu. */
function PanelButtons() {
  const { place, button, onFocusOut, onKeyDown } = useMenu(isMoreOpen);
  const toggle = (id: string, { detail }: MouseEvent) => {
    openPanel.value = openPanel.value === id ? undefined : id;
    isMoreOpen.value = false;
    // Whoever opens a panel by a key goes on in it by keys; without a mouse the way to it is long. With a frame, which a busy page
    // gives late, it would take the focus from where one has gone since.
    if (detail === 0) queueMicrotask(() => document.querySelector<HTMLElement>('.panel-body')?.focus());
  };
  return (
    <div class="menu" ref={place} onKeyDown={onKeyDown} onFocusOut={onFocusOut}>
      <button ref={button} type="button" class="icon-button only-small" title="More" aria-expanded={isMoreOpen.value} aria-controls="panels" onClick={() => (isMoreOpen.value = !isMoreOpen.value)}>
        <Icon name="more" />
        <span class="hidden">More</span>
      </button>
      <div id="panels" class={`panel-buttons${isMoreOpen.value ? ' open' : ''}`} role="group" aria-label="Panels">
        <button type="button" class="icon-button" title="Search in the conversation (Ctrl Shift F)" onClick={() => (find(), (isMoreOpen.value = false))}>
          <Icon name="search" />
          <span class="hidden">Search in the conversation</span>
        </button>
        {panels.map(({ id, title: name, icon, about }) => (
          <button key={id} type="button" data-panel={id} class={`icon-button${about ? ' named' : ''}`} title={about ? `${name}: ${about}` : name} aria-pressed={openPanel.value === id} onClick={(event) => toggle(id, event)}>
            <Icon name={icon} />
            <span class="in-words">{name}</span>
          </button>
        ))}
      </div>
    </div>
  );
}

function PanelView({ isCovered }: { isCovered: boolean }) {
  const panel = panelShown.value;
  if (!panel) return null;
  return (
    <aside id="panel" class="panel" aria-label={panel.title} inert={isCovered}>
      <header>
        <h2>{panel.title}</h2>
        <button type="button" class="icon-button" onClick={closePanel}>
          <Icon name="close" />
          <span class="hidden">Close {panel.title}</span>
        </button>
      </header>
      <div key={panel.id} class="panel-body" tabIndex={0} role="region" aria-label={`${panel.title}, contents`}>
        <panel.View />
      </div>
    </aside>
  );
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
