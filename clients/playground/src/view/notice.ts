// What the title of the page tells whoever has gone to another one meanwhile: that a turn has ended, or that it waits for them.
// The title alone: a notification of the system would have to be asked for.
import { effect, signal } from '@preact/signals';
import { liveTurn } from '../store/conversation.js';
import { unanswered } from '../store/turn_record.js';

/** What stands before the title until the page is looked at again. */
export const notice = signal('');

type At = 'idle' | 'runs' | 'waits';
let before: At = 'idle';
effect(() => {
  const turn = liveTurn.value;
  const now: At = !turn ? 'idle' : unanswered(turn.record.value).length > 0 ? 'waits' : 'runs';
  if (now !== before && before !== 'idle' && document.hidden) notice.value = { idle: '✓ ', waits: '? ', runs: '' }[now];
  before = now;
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) notice.value = '';
});
