// Closing a panel: the focus goes back to the button that has opened it, or, where that is in a menu, to the menu's.
import { openPanel } from '../panels.js';

export function closePanel(): void {
  const opener = document.querySelector<HTMLElement>(`#panels [data-panel="${openPanel.peek()}"]`);
  openPanel.value = undefined;
  const place = opener?.checkVisibility() ? opener : document.querySelector<HTMLElement>('[aria-controls="panels"]');
  // What a panel covers can be focused when it is uncovered.
  if (place?.closest('[inert]')) queueMicrotask(() => place.focus());
  else place?.focus();
}
