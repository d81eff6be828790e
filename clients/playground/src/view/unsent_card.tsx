// Words that have not left this page: that they wait, why, and what may be done with them.
import { askNow, isLost } from '../store/connection.js';
import { drop, sendWithoutFiles } from '../store/conversation.js';
import { outlivesPage } from '../store/outbox.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { Icon } from './icon.js';

/** What a reload does with what waits. */
export const OUTLIVES = { true: ', also after a reload.', false: '. A reload would lose it: this browser has no room for it.' } as const;

export function Unsent({ turn }: { turn: ShownTurn }) {
  const hasAll = turn.request !== undefined;
  return (
    <div class="card unsent" role="group" aria-label="Not sent yet">
      <h3>
        <Icon name="warning" /> {hasAll ? (isLost.value ? 'Waiting for the network' : 'Waiting for its turn') : 'Not sent: its files are gone'}
      </h3>
      <p>
        {hasAll
          ? `This message has not left this page. It is sent by itself as soon as ${isLost.value ? 'the service can be reached' : 'the turn before it has ended'}${OUTLIVES[`${outlivesPage.value}`]}`
          : 'A reload has kept the words of this message, and not its files. Attach them to a new message, or send the words alone.'}
      </p>
      <div class="actions">
        {!hasAll && (
          <button type="button" onClick={() => sendWithoutFiles(turn)}>
            <Icon name="send" /> Send the words alone
          </button>
        )}
        {hasAll && isLost.value && (
          <button type="button" onClick={askNow}>
            <Icon name="retry" /> Try now
          </button>
        )}
        <button type="button" onClick={() => drop(turn)}>
          <Icon name="trash" /> Drop it
        </button>
      </div>
    </div>
  );
}

/** That the service cannot be reached, for as long as that is so. */
export function ConnectionSign() {
  return (
    <div class="connection" aria-live="polite">
      {isLost.value && (
        <p>
          <Icon name="warning" /> The service cannot be reached. It is tried again by itself.
          <button type="button" class="plain" onClick={askNow}>
            Try now
          </button>
        </p>
      )}
    </div>
  );
}
