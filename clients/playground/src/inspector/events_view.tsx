// The raw events as they came, each with its time and its position in the text.
import { useState } from 'preact/hooks';
import type { StreamEvent, TurnEvent } from '../../../typescript/src/index.js';
import { now } from '../store/clock.js';
import { sessionId } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { aptix } from '../store/service.js';
import { isLive, seconds } from '../store/turn_record.js';
import { copyText } from '../view/clipboard.js';

/** The newest ones that are shown. Copying gives all. */
const MOST_SHOWN = 300;

export function EventsView({ turn }: { turn: ShownTurn }) {
  const [fault, setFault] = useState('');
  const events = turn.events.value;
  const began = events[0]?.at ?? 0;
  const hidden = Math.max(0, events.length - MOST_SHOWN);
  if (events.length === 0) {
    return (
      <>
        <p class="muted">This turn is from before this page was loaded. Its text and its result can be replayed.</p>
        <button type="button" disabled={isLive(turn.record.value)} onClick={() => replay(turn).catch((error) => setFault(failureOf(error).message))}>
          Replay its events
        </button>
        {fault && <p class="fault">{fault}</p>}
      </>
    );
  }
  const copy = () => copyText(events.map((each) => JSON.stringify(each)).join('\n'), 'The events are copied.');
  return (
    <>
      <div class="events" tabIndex={0} role="region" aria-label="Raw events">
        <table>
          <thead>
            <tr>
              <th>after</th>
              <th>event</th>
              <th>position</th>
              <th>data</th>
            </tr>
          </thead>
          <tbody>
            {events.slice(hidden).map(({ at, event }, index) => (
              <tr key={hidden + index}>
                <td>{seconds(at - began)}</td>
                <td>{event.type}</td>
                <td>{event.type === 'text' ? event.position : event.type === 'result' ? 'end' : ''}</td>
                <td>{dataOf(event)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="muted">{hidden > 0 ? `${events.length} events; the newest ${MOST_SHOWN} are shown.` : `${events.length} events.`}</p>
      <button type="button" onClick={copy}>
        Copy them as lines of JSON
      </button>
    </>
  );
}

const MOST_DATA = 160;
function dataOf(event: StreamEvent): string {
  const data = event.type === 'discard' ? `segment ${event.segment}` : JSON.stringify(contentsOf(event));
  return data.length > MOST_DATA ? `${data.slice(0, MOST_DATA)}…` : data;
}

const contentsOf = (event: Exclude<StreamEvent, { type: 'discard' }>): unknown =>
  event.type === 'text' ? event.delta : event.type === 'progress' ? event.progress : event.response;

const isOfStream = (event: TurnEvent): event is StreamEvent => event.type !== 'tool_calls' && event.type !== 'tool_results';

async function replay(turn: ShownTurn): Promise<void> {
  const events: { at: number; event: StreamEvent }[] = [];
  for await (const event of aptix.session(sessionId.peek()).attach(turn.record.peek().turnId, { progress: true })) {
    if (isOfStream(event)) events.push({ at: now(), event });
  }
  turn.events.value = events;
}
