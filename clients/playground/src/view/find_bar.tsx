// The search in the open conversation: a box, the number of places, and the way from one to the next.
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { sessionId } from '../store/conversation.js';
import { user } from '../store/user.js';
import { bringIntoSight, mark, placesOf } from './finding.js';
import { Icon } from './icon.js';
import { focusMessage } from './screen.js';
import { isEnter } from './typing.js';

/** What is sought; `undefined` while the search is closed. */
const sought = signal<string | undefined>(undefined);
// The next one who sits here sees nothing of what was sought.
user.subscribe(() => (sought.value = undefined));
const MOST_PLACES = 1000;
/** The pause after a change of the page before it is searched again, in ms: an answer changes it with each word. */
const PAUSE_MS = 100;

export const isFinding = (): boolean => sought.peek() !== undefined;

/** How often the search was asked for: each time it gets the focus. */
const asked = signal(0);

/** Opens the search, with these words, or with those that are selected. */
export function find(words = String(getSelection() ?? '').split('\n')[0]!): void {
  sought.value = words.trim() || (sought.peek() ?? '');
  asked.value += 1;
}

export function stopFinding(): void {
  sought.value = undefined;
  focusMessage();
}

export const FindBar = () => (sought.value === undefined ? null : <Bar words={sought.value} />);

function Bar({ words }: { words: string }) {
  const [places, setPlaces] = useState<readonly Range[]>([]);
  const [at, setAt] = useState(0);
  /** The place that is still to be gone to: the first one may come only with the session, and one may be lost on the way. */
  const wanted = useRef<number | undefined>(0);
  const [losses, setLosses] = useState(0);
  const box = useRef<HTMLInputElement>(null);
  // Before the next key, which belongs to the search already.
  useLayoutEffect(() => (box.current!.focus(), box.current!.select()), [asked.value]);
  useEffect(() => {
    wanted.current = 0;
    const turns = document.querySelector('.turns')!;
    const look = () => setPlaces(placesOf(words, turns, MOST_PLACES));
    look();
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const changed = new MutationObserver(() => {
      clearTimeout(waiting);
      waiting = setTimeout(look, PAUSE_MS);
    });
    changed.observe(turns, { childList: true, characterData: true, subtree: true });
    return () => {
      clearTimeout(waiting);
      changed.disconnect();
    };
  }, [words, sessionId.value]);
  const current = Math.min(at, places.length - 1);
  const go = (to: number) => {
    const next = (to + places.length) % places.length;
    if (!places[next]) return;
    wanted.current = undefined;
    setAt(next);
    bringIntoSight(places[next]!, () => {
      wanted.current ??= next;
      setLosses((count) => count + 1);
    });
  };
  useEffect(() => {
    mark(places, places[current]);
    if (wanted.current !== undefined) go(wanted.current);
  }, [places, current, losses]);
  useEffect(() => () => mark([], undefined), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isEnter(event)) return;
    event.preventDefault();
    go(current + (event.shiftKey ? -1 : 1));
  };
  const count = places.length === MOST_PLACES ? `${MOST_PLACES} or more` : places.length;
  return (
    <search class="find">
      <input ref={box} id="find" type="search" dir="auto" aria-label="Search in the conversation" placeholder="Search in the conversation" value={words} onInput={(event) => (sought.value = event.currentTarget.value)} onKeyDown={onKeyDown} />
      <span role="status">{words.trim() === '' ? '' : places.length === 0 ? 'None' : `${current + 1} of ${count}`}</span>
      <button type="button" class="icon-button up" title="The one before (Shift Enter)" disabled={places.length === 0} onClick={() => go(current - 1)}>
        <Icon name="down" />
        <span class="hidden">The one before</span>
      </button>
      <button type="button" class="icon-button" title="The next one (Enter)" disabled={places.length === 0} onClick={() => go(current + 1)}>
        <Icon name="down" />
        <span class="hidden">The next one</span>
      </button>
      <button type="button" class="icon-button" title="Close (Esc)" onClick={stopFinding}>
        <Icon name="close" />
        <span class="hidden">Close the search</span>
      </button>
    </search>
  );
}
