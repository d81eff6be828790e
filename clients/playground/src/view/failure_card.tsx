// How a turn ended that has no response: what failed, who has to act, and what the operator asks for.
import { canBeSentAgain, follow, sendAgain } from '../store/conversation.js';
import type { ShownTurn } from '../store/shown_turn.js';
import type { Failure, TurnRecord } from '../store/turn_record.js';
import { Icon } from './icon.js';

const WHO = { client: 'You can act.', operator: 'The operator has to act.', nobody: 'It may pass by itself: try again.' } as Record<string, string>;

export function Ended({ turn, failure, status }: { turn: ShownTurn; failure: Failure; status: TurnRecord['status'] }) {
  if (status === 'aborted') return <p class="note">This turn was stopped.</p>;
  const isLost = status === 'lost';
  return (
    <div class="card bad failure" role="group" aria-label="Failure">
      <h3>
        <Icon name="warning" /> {isLost ? 'The connection is lost' : 'The turn failed'}
      </h3>
      <p>{isLost ? 'The turn runs on without you. The page goes on where the text stopped, as soon as the service can be reached.' : failure.message}</p>
      {!isLost && (
        <p class="muted">
          <code>{failure.code}</code> {WHO[failure.whoActs ?? '']}
        </p>
      )}
      <Details failure={failure} />
      <div class="actions">
        {isLost && (
          <button type="button" class="primary" onClick={() => follow(turn)}>
            <Icon name="retry" /> Reconnect
          </button>
        )}
        {!isLost && canBeSentAgain(turn) && (
          <button type="button" onClick={() => sendAgain(turn)}>
            <Icon name="retry" /> Send it again
          </button>
        )}
      </div>
    </div>
  );
}

/** What the service says of the failure besides its message, as it names it; texts as they are, all else as JSON. */
function Details({ failure: { details = {}, requestId } }: { failure: Failure }) {
  const members = Object.entries(details);
  if (members.length === 0 && requestId === undefined) return null;
  return (
    <dl class="details" aria-label="Details">
      {members.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
      {requestId !== undefined && (
        <div>
          <dt>Request in the service’s log</dt>
          <dd>
            <code>{requestId}</code>
          </dd>
        </div>
      )}
    </dl>
  );
}
