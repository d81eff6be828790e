// The playground: it opens the session that the address names, at its turn, or a new one.
import { effect } from '@preact/signals';
import { render } from 'preact';
import { isId, placeIn, sessionNamed, WRONG_ADDRESS } from './store/address.js';
import { catchUp, choose, loadFault, newId, open, sessionId, shownTurns } from './store/conversation.js';
import { noteLoss } from './store/connection.js';
import { isLetIn, knock } from './store/service.js';
import { start } from './store/synchronizing.js';
import { byClient, reportWhole } from './breaking/by_client.js';
import { afterReload } from './breaking/reload.js';
import { openPanel } from './panels.js';
import './style/page.css';
import { App } from './view/app.js';

/** Opens what the address names, or else the session of this id. */
function openNamed(otherwise: string): void {
  const { session, turn } = placeIn(location.hash) ?? {};
  // Within the open session only another turn is shown: what the page knows of the session stays.
  if (session !== undefined && !isId(session)) {
    history.replaceState(null, '', location.pathname + location.search);
    void open(otherwise, false);
    loadFault.value = WRONG_ADDRESS;
  } else if (session === sessionId.peek() && shownTurns.peek().length > 0) choose(turn);
  else void open(session ?? otherwise, session !== undefined, turn);
}

render(<App />, document.getElementById('app')!);
start();
knock().catch((error: Error) => {
  loadFault.value = `The service does not answer: ${error.message}`;
  // A service that answers is not lost: its fault is for the operator.
  if (error instanceof TypeError) noteLoss();
});
addEventListener('popstate', () => openNamed(newId()));
const named = sessionNamed();
// With a key that was refused nothing could be opened, so the next one opens it. A new session stays the one that is on the
// page: somebody may be writing in it, or have gone elsewhere with the focus.
effect(() => {
  if (!isLetIn.value) return;
  if (shownTurns.peek().length === 0) queueMicrotask(() => openNamed(sessionId.peek()));
  // Somebody has written before the service had answered: what was said before is still to be shown.
  else if (named === sessionId.peek()) queueMicrotask(() => void catchUp().catch(() => {}));
});
afterReload(byClient.find(({ id }) => id === 'reload')!, reportWhole, () => (openPanel.value = 'breaking'));
