// The conversation as a list that scrolls. Owns where it stands: at its end while that is read, and else where it was left.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { BranchNote } from '../branching/branch_note.js';
import { openPanel, panels } from '../panels.js';
import { isLoading, liveTurn, loadFault, namedTurn, newestTurn, send, sessionId, shownTurns } from '../store/conversation.js';
import { conversationContext } from '../store/settings.js';
import { unanswered } from '../store/turn_record.js';
import { Icon } from './icon.js';
import { focusMessage } from './screen.js';
import { TurnView } from './turn_view.js';

/** How near its end, in pixels, a list that is scrolled down counts as read to the end and goes on with what comes. */
const NEAR_PX = 80;
/** Whether the newest is out of sight. */
const isAway = signal(false);

export function Conversation() {
  const place = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  // What an empty session shows is read from its beginning.
  const end = () => (shownTurns.peek().length > 0 ? place.current!.scrollHeight : 0);
  const toEnd = () => {
    follows.current = true;
    place.current!.scrollTop = end();
  };
  useEffect(() => {
    const box = place.current!;
    let top = 0;
    const rest = () => box.scrollHeight - box.scrollTop - box.clientHeight;
    const scrolled = () => {
      // Whoever scrolls up reads there, however little it is; what comes meanwhile moves nothing.
      if (rest() > 2 && box.scrollTop < top) follows.current = false;
      else if (rest() < NEAR_PX) follows.current = true;
      top = box.scrollTop;
      look();
    };
    const look = () => (isAway.value = end() > 0 && rest() > NEAR_PX && !follows.current);
    const resized = new ResizeObserver(() => {
      // Whoever has scrolled up in this frame is heard of in the next.
      scrolled();
      if (follows.current && end() > 0) box.scrollTop = end();
      look();
    });
    box.addEventListener('scroll', scrolled, { passive: true });
    for (const each of [box, box.firstElementChild!]) resized.observe(each);
    return () => resized.disconnect();
  }, []);
  useEffect(toEnd, [sessionId.value]);
  // One's own message is shown wherever one had read; what another tab has asked is not.
  useEffect(() => {
    if (newestTurn.value?.request) toEnd();
  }, [newestTurn.value]);
  // The turn that the address names is where one begins to read.
  useEffect(() => {
    const named = place.current!.querySelector('.turn.named');
    if (!named) return;
    follows.current = false;
    named.scrollIntoView();
  }, [namedTurn.value, isLoading.value, loadFault.value]);
  useFocusAfterAnswer();
  const isEmpty = shownTurns.value.length === 0;
  return (
    <>
      <div class="conversation" ref={place} tabIndex={0} role="region" aria-label="Conversation">
        <div class="column" aria-busy={liveTurn.value !== undefined}>
          {isLoading.value && <p class="muted">Loading the session…</p>}
          {loadFault.value && <p class="fault">{loadFault.value}</p>}
          <BranchNote />
          {isEmpty && !isLoading.value && !loadFault.value && <Welcome />}
          <ol class="turns">
            {shownTurns.value.map((turn) => (
              <TurnView key={turn.record.peek().turnId} turn={turn} />
            ))}
          </ol>
        </div>
      </div>
      {isAway.value && (
        <div class="jump">
          <button type="button" class="pill" onClick={() => (toEnd(), focusMessage())}>
            <Icon name="down" /> Jump to the newest
          </button>
        </div>
      )}
    </>
  );
}

/** A card that was answered is gone, and the focus with it: it goes to the next one, or to the message box. */
function useFocusAfterAnswer(): void {
  const waiting = liveTurn.value ? unanswered(liveTurn.value.record.value).length : 0;
  const before = useRef(0);
  useEffect(() => {
    if (waiting < before.current && document.activeElement === document.body) {
      const next = document.querySelector<HTMLElement>('.question');
      if (next) next.focus();
      else focusMessage();
    }
    before.current = waiting;
  }, [waiting]);
}

/** What to say, what it shows, and what of `make dev` it needs; the address of the page tells what is there. */
const SUGGESTIONS: readonly (readonly [words: string, shows: string, needs?: 'demo-catalog' | 'stand-in'])[] = [
  ['What can you do?', 'a streamed answer'],
  ['Switch to DDR authoring.', 'another mode: the agent helps to write a design record', 'demo-catalog'],
  ['Please read README.md.', 'a tool that you answer'],
  ['Call the tool send_postcard with the word Ann.', 'a call that you approve', 'demo-catalog'],
  ['Reason about it.', 'what the model thinks, folded', 'stand-in'],
  ['Give a slow answer.', 'time to reload, stop or cut it', 'stand-in'],
];
const isThere = new URLSearchParams(location.search);
const fitting = SUGGESTIONS.filter(([, , needs]) => needs === undefined || isThere.has(needs));

/** Who answers here. Which model it is, the service tells of each call in the inspector. */
const Answerer = () => (
  <p class="muted answerer">
    {isThere.has('stand-in') ? (
      <>
        Answers come from a <strong>stand-in</strong> for the model service, which repeats what it is given
      </>
    ) : (
      'Answers come from the model service that the catalog names'
    )}
    , under the context <code>{conversationContext.value || 'default'}</code>. Every turn is kept as it happens: reload, disconnect or come back tomorrow.
  </p>
);

const Welcome = () => (
  <div class="welcome">
    <h2>What should the agent do?</h2>
    <Answerer />
    <ul class="invitations">
      {panels.flatMap(({ id, icon, invites }) =>
        invites === undefined ? [] : (
          <li key={id}>
            <button type="button" onClick={() => ((openPanel.value = id), invites.begin?.())}>
              <strong>
                <Icon name={icon} /> {invites.words}
              </strong>
              <small>{invites.shows}</small>
            </button>
          </li>
        ))}
    </ul>
    <h3>Or say something</h3>
    <ul class="suggestions">
      {fitting.map(([words, shows]) => (
        <li key={words}>
          <button type="button" onClick={() => send(words)}>
            <strong>{words}</strong>
            <small>{shows}</small>
          </button>
        </li>
      ))}
    </ul>
  </div>
);
