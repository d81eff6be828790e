// What the screen is like: how wide, and whether fingers point.
import { signal, type ReadonlySignal } from '@preact/signals';

/** Below this width the panel takes the place of the sessions; below the next one either covers the conversation. */
export const medium = matching('(max-width: 1180px)');
export const narrow = matching('(max-width: 820px)');

/** A keyboard on the screen covers half of it, and has no other key that breaks a line. */
export const hasTouchKeyboard = (): boolean => matchMedia('(pointer: coarse)').matches;

function matching(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => (matches.value = list.matches));
  return matches;
}

/** Where `⌘` is what `Ctrl` is elsewhere, and `Alt` writes letters. */
export const isApple = /^(Mac|iP)/.test(navigator.platform);

/** Focuses the message box, unless that would bring up a keyboard on the screen; then the conversation. */
export function focusMessage(): void {
  const place = hasTouchKeyboard() ? document.querySelector<HTMLElement>('.conversation') : document.getElementById('message');
  place?.focus({ preventScroll: true });
}
