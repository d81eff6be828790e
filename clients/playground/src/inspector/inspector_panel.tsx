// A turn from the inside: its time, what it was made of, the session's context window and modes, events and requests.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { now } from '../store/clock.js';
import { chosenTurn, isLoading, lookedAt, sessionId, shownTurns } from '../store/conversation.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { namedFor } from '../store/figures.js';
import { isLive, seconds, wordsFor } from '../store/turn_record.js';
import { Icon } from '../view/icon.js';
import { CompositionView } from './composition_view.js';
import { EventsView } from './events_view.js';
import { EXAMPLE, sendExample } from './example.js';
import { ExactRequestView } from './exact_request_view.js';
import { fault, fill, inspect, inspected, modes } from './inspected.js';
import { RequestView } from './request_view.js';
import { RequestsView } from './requests_view.js';
import { isCalling, spentOn, timelineOf } from './timeline.js';
import { keyOf, TimelineView } from './timeline_view.js';
import { RowView } from './row_view.js';
import { sendersOf, tokens, type Inspected, type Trace } from './trace.js';
import { WindowView } from './window_view.js';

export function InspectorPanel() {
  const turn = lookedAt.value;
  return <div class="inspector">{turn ? <Turn key={turn} turn={turn} /> : !isLoading.value && <Empty />}</div>;
}

function Empty() {
  const begin = (event: MouseEvent) => {
    // What was pressed is gone then.
    (event.currentTarget as Element).closest<HTMLElement>('.panel-body')?.focus();
    sendExample();
  };
  return (
    <>
      <p class="muted">A turn is taken apart here: what each model call was sent, byte for byte, what it cost, and where the time went.</p>
      <div>
        <button type="button" class="primary" onClick={begin}>
          Send an example
        </button>
        <p class="muted">{`“${EXAMPLE}”`}</p>
      </div>
    </>
  );
}

function Turn({ turn }: { turn: ShownTurn }) {
  const record = turn.record.value;
  const steps = turn.events.value.filter(({ event }) => event.type === 'progress').length;
  useEffect(() => void inspect(turn), [turn, turn.isTaken, record.status, steps]);
  useEffect(() => void fill(), [sessionId.value, shownTurns.value.length, record.status]);
  const found = inspected.value?.trace.TurnId === record.turnId ? inspected.value : undefined;
  return (
    <>
      <header class="of-turn">
        <p class="words" dir="auto">{record.asked.text || 'A turn without words'}</p>
        <Turns turn={turn} />
      </header>
      {fault.value && <p class="fault">{fault.value}</p>}
      {!found && !fault.value && <p class="muted">{turn.isTaken ? 'Asking for its trace…' : 'The service does not have this turn.'}</p>}
      {found && (
        <>
          <Time found={found} turn={turn} />
          <section>
            <h3>What the model was given</h3>
            <CompositionView trace={found.trace} />
          </section>
          <section>
            <h3>Context window over the session</h3>
            <WindowView turnId={record.turnId} />
          </section>
          <ModeHistory />
        </>
      )}
      <Folded title="Raw events">
        <EventsView turn={turn} />
      </Folded>
      <Folded title="What the model was sent">
        <ExactRequestView key={`${record.turnId} ${record.status}`} turn={turn} />
      </Folded>
      <Folded title="The request as code">
        <RequestView turn={turn} />
      </Folded>
      <Folded title="HTTP requests of this page">
        <RequestsView record={record} />
      </Folded>
      <dl class="ids">
        <dt>Turn</dt>
        <dd><code>{record.turnId}</code></dd>
        <dt>Session</dt>
        <dd><code>{sessionId.value}</code></dd>
        {found && <SentBy trace={found.trace} />}
      </dl>
    </>
  );
}

/** Who sent the turn, and the results that it waited for. */
function SentBy({ trace }: { trace: Trace }) {
  const senders = sendersOf(trace);
  if (senders.length === 0) return null;
  return (
    <>
      <dt>Sent by</dt>
      {senders.map((sender) => (
        <dd key={sender}>{sender}</dd>
      ))}
    </>
  );
}

/** Goes from turn to turn by the keyboard; a click on a turn does the same. */
function Turns({ turn }: { turn: ShownTurn }) {
  const all = shownTurns.value;
  const at = all.indexOf(turn);
  const go = (to: number) => (chosenTurn.value = all[to]);
  return (
    <div class="turns-of">
      <button type="button" class="small" disabled={at <= 0} onClick={() => go(at - 1)}>
        <Icon name="chevron" />
        <span class="hidden">Earlier turn</span>
      </button>
      <span>{`Turn ${at + 1} of ${all.length} · ${wordsFor(turn.record.value.status)}`}</span>
      <button type="button" class="small" disabled={at >= all.length - 1} onClick={() => go(at + 1)}>
        <Icon name="chevron" />
        <span class="hidden">Later turn</span>
      </button>
    </div>
  );
}

function Time({ found, turn }: { found: Inspected; turn: ShownTurn }) {
  const { trace } = found;
  const events = turn.events.value;
  const passed = useNow(isLive(turn.record.value));
  const calls = trace.ModelCalls.length + (isCalling(trace) ? 1 : 0);
  // The page's own beginning is earlier by the way to the service, and would make the end seem to come back by that.
  const began = Math.max(turn.record.value.startedAt, Date.parse(found.view.StartedAt));
  const timeline = timelineOf(found, events, (passed ?? events.at(-1)?.at ?? now()) - began);
  const [opened, setOpened] = useState<string>();
  const openRow = timeline.rows.find((row) => opened !== undefined && keyOf(row) === opened);
  const sum = (of: 'PromptTokens' | 'CompletionTokens') => trace.ModelCalls.reduce((all, { Usage }) => all + (Usage?.[of] ?? 0), 0);
  // Calls that have told nothing are no calls without tokens.
  const told = (of: 'PromptTokens' | 'CompletionTokens') => (sum('PromptTokens') + sum('CompletionTokens') > 0 ? tokens(sum(of)) : '–');
  return (
    <section>
      <h3>Timeline</h3>
      <dl class="figures">
        <Figure name="in all" value={seconds(Math.round(timeline.totalMs))} />
        <Figure name={namedFor(calls, 'model calls')} value={String(calls)} />
        <Figure name="tokens in" value={told('PromptTokens')} />
        <Figure name="tokens out" value={told('CompletionTokens')} />
      </dl>
      <TimelineView timeline={timeline} opened={opened} open={(row) => setOpened(opened === keyOf(row) ? undefined : keyOf(row))} />
      {openRow && <RowView key={opened} turn={turn} row={openRow} close={() => setOpened(undefined)} />}
      {!isLive(turn.record.value) && (
        <details class="plain-table">
          <summary>
            What the time went into <Icon name="chevron" />
          </summary>
          <dl>
            {spentOn(found).map(({ name, ms }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{seconds(Math.round(ms))}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      {trace.Running && <p class="muted">{`Now: ${trace.Running.Kind.replaceAll('_', ' ')}`}</p>}
    </section>
  );
}

/** The time, each second anew, while a turn is not over: nothing else tells for sure that time passes. */
function useNow(isWaiting: boolean): number | undefined {
  const [seen, setSeen] = useState(now);
  useEffect(() => {
    if (!isWaiting) return;
    setSeen(now());
    const timer = setInterval(() => setSeen(now()), 1000);
    return () => clearInterval(timer);
  }, [isWaiting]);
  return isWaiting ? seen : undefined;
}

const Figure = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

function ModeHistory() {
  const told = modes.value;
  if (!told) return null;
  return (
    <section>
      <h3>Mode</h3>
      <p>
        Now <strong>{told.ModeDisplayName}</strong>{told.History.length === 0 && ', as from the start'}.
      </p>
      {told.History.length > 0 && (
        <ol class="mode-history">
          {told.History.map(({ PreviousMode, NewMode, Timestamp, Reason, TurnId }) => {
            const at = shownTurns.value.findIndex(({ record }) => record.value.turnId === TurnId);
            return (
              <li key={`${Timestamp} ${NewMode}`}>
                <span>
                  <code>{PreviousMode}</code> → <code>{NewMode}</code>
                </span>
                <small>{`${new Date(Timestamp).toLocaleTimeString()} · ${Reason}`}</small>
                {at >= 0 && (
                  <button type="button" class="plain" onClick={() => (chosenTurn.value = shownTurns.value[at])}>
                    {`Turn ${at + 1}`}
                  </button>
                )}
              </li>
            );
          })}
        </ol>
      )}
    </section>
  );
}

const Folded = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <details class="fold">
    <summary>
      <h3>{title}</h3>
      <Icon name="chevron" />
    </summary>
    <div class="fold-body">{children}</div>
  </details>
);
