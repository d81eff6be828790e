// The keys of the whole page; help.tsx lists them. Owns in which order Esc leaves things.
import { useEffect } from 'preact/hooks';
import { openPanel } from '../panels.js';
import { announced, cancel, liveTurn } from '../store/conversation.js';
import { searched } from '../store/user_sessions.js';
import { closePanel } from './closing.js';
import { find, isFinding, stopFinding } from './find_bar.js';
import { isHelpOpen } from './help.js';
import { focusMessage, isApple, medium, narrow } from './screen.js';
import { isSidebarOpen, startNew } from './sidebar.js';
import { isOfComposition } from './typing.js';

export function useKeys(): void {
  useEffect(() => {
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function onKey(event: KeyboardEvent): void {
  if (isOfComposition(event) || document.querySelector('dialog[open]')) return;
  const act = actionOf(event);
  if (!act) return;
  event.preventDefault();
  act();
}

function actionOf(event: KeyboardEvent): (() => void) | undefined {
  const withControl = event.ctrlKey || event.metaKey;
  if (withControl && event.key.toLowerCase() === 'k') return searchSessions;
  if (withControl && event.shiftKey && event.key.toLowerCase() === 'f') return () => find();
  if (withControl && event.key === '/') return showHelp;
  if (event.key === '?' && !withControl && !isWritten(event.target as Element)) return showHelp;
  // On a Mac it writes the `ń` of Polish, and begins the `ñ` of Spanish.
  if (event.altKey && event.code === 'KeyN' && !(isApple && isWritten(event.target as Element))) return startNew;
  return event.key === 'Escape' ? leave : undefined;
}

const showHelp = () => void (isHelpOpen.value = true);

/** Whether what is typed goes into this. */
const isWritten = (target: Element): boolean => target.matches('textarea, select, input:not([type="checkbox"], [type="file"])');

export function searchSessions(): void {
  if (medium.peek()) openPanel.value = undefined;
  isSidebarOpen.value = true;
  const box = document.getElementById('search')!;
  box.focus();
  // A list that was hidden has to be shown before it can be focused.
  if (document.activeElement !== box) queueMicrotask(() => box.focus());
}

/** Leaves what lies over the conversation or has the focus; then stops what runs; then closes the panel. */
function leave(): void {
  const isIn = (place: string) => document.activeElement?.closest(place) != null;
  const turn = liveTurn.peek();
  if (isFinding() && !isIn('.sidebar, .panel')) return stopFinding();
  if (isIn('.sidebar') || (narrow.peek() && isSidebarOpen.peek())) {
    isSidebarOpen.value = false;
    searched.value = '';
  } else if (openPanel.peek() && (isIn('.panel') || narrow.peek())) {
    return closePanel();
  } else if (turn?.record.peek().status === 'running') {
    announced.value = 'The turn is being stopped.';
    void cancel(turn);
  } else {
    openPanel.value = undefined;
  }
  focusMessage();
}
