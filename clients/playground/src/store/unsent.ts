// What is typed and not sent yet, and what is set, of each session: kept by the browser over reloads, and nothing that was
// said. Owns where: of a user's sessions, and before a session has begun, in the storage of the tab, otherwise in that of
// the browser. Signing out removes what is the user's.
import { batch, effect, signal, untracked } from '@preact/signals';
import { placeIn } from './address.js';
import { attachedHere, noneAttached, refusedFiles, type Attached } from './attachments.js';
import { sessionId, shownTurns } from './conversation.js';
import { droppedFiles } from './ready_tools.js';
import { attempts } from './service.js';
import { changedSettings, setAgain, settingsIn, type Settings } from './settings.js';
import { ofBrowser, ofTab, type Kept } from './storage.js';
import { user } from './user.js';

/** The words that are being written. */
export const draft = signal('');

const PREFIX = 'aptix-edge.unsent.';
/** A draft that is longer is kept when the typing rests: to write it with each key would take longer than the key. */
const LONG = 4000;
const REST_MS = 300;
/** The sessions of this browser of which anything is kept: those that were changed last. */
const MOST_KEPT = 200;

interface Unsent {
  draft: string;
  settings: Partial<Settings>;
}

/** Where something is kept: `session` is empty before one has begun. */
interface Place {
  user: string | undefined;
  session: string;
}

let place: Place | undefined;
let resting: ReturnType<typeof setTimeout> | undefined;
/** What is kept there, as JSON. */
let held = '';
/** Files are kept by the page alone. */
const attached = new Map<string, Attached>();

const ownPrefix = (name: string | undefined): string => `${PREFIX}${name === undefined ? '' : `~${encodeURIComponent(name)}`}/`;
const keyOf = ({ user: name, session }: Place): string => ownPrefix(name) + session;
const storageOf = ({ user: name, session }: Place): Kept => (name === undefined && session !== '' ? ofBrowser : ofTab);

/** Goes on in another session, or as somebody else. */
function moveTo(next: Place): void {
  const before = place;
  place = next;
  // The first message makes a session of what was none yet.
  if (before && before.user === next.user && before.session === '' && shownTurns.peek().length > 0) {
    drop(before);
    attached.delete(keyOf(before));
    return keep(next, JSON.stringify({ draft: draft.peek(), settings: changedSettings() }));
  }
  const isSomebodyElse = before !== undefined && before.user !== next.user;
  const kept = read(next);
  batch(() => {
    if (isSomebodyElse) leave(before.user);
    else if (before) attached.set(keyOf(before), attachedHere.peek());
    if (before) attachedHere.value = attached.get(keyOf(next)) ?? noneAttached();
    refusedFiles.value = '';
    draft.value = kept?.draft ?? '';
    // A new session begins with what was set in the one before.
    if (kept || isSomebodyElse || next.session !== '') setAgain(kept?.settings ?? {});
  });
  held = JSON.stringify({ draft: draft.peek(), settings: changedSettings() });
}

/** Nothing of a user is left for the next one who sits before this tab. */
function leave(name: string | undefined): void {
  attached.clear();
  droppedFiles.value = new Map();
  attempts.value = [];
  if (name !== undefined) for (const key of ofTab.keys(ownPrefix(name))) ofTab.remove(key);
}

/** Forgets what is kept of a session that is erased. */
export function forget(session: string): void {
  const erased = { user: user.peek(), session };
  drop(erased);
  attached.delete(keyOf(erased));
}

const drop = (from: Place): void => storageOf(from).remove(keyOf(from));

function keep(at: Place, text: string): void {
  held = text;
  const { draft: words, settings } = JSON.parse(text) as Unsent;
  if (words === '' && Object.keys(settings).length === 0) drop(at);
  else storageOf(at).set(keyOf(at), JSON.stringify({ at: Date.now(), draft: words, settings }));
}

const read = (from: Place): Unsent | undefined => parsed(storageOf(from).get(keyOf(from)));

function parsed(text: string | null): (Unsent & { at: number }) | undefined {
  if (text === null) return undefined;
  try {
    const { at, draft: words, settings } = JSON.parse(text);
    return { at: Number(at) || 0, draft: typeof words === 'string' ? words : '', settings: settingsIn(settings) };
  } catch {
    return undefined;
  }
}

effect(() => {
  const hasBegun = shownTurns.value.length > 0 || placeIn(location.hash)?.session === sessionId.value;
  const next: Place = { user: user.value, session: hasBegun ? sessionId.value : '' };
  const { length } = draft.value;
  changedSettings();
  untracked(() => {
    if (place && keyOf(place) === keyOf(next)) return keepSoon(length > LONG ? REST_MS : 0);
    keepNow();
    moveTo(next);
  });
});

function keepSoon(ms: number): void {
  clearTimeout(resting);
  if (ms > 0) resting = setTimeout(keepNow, ms);
  else keepNow();
}

/** Keeps what has not been kept yet, where it was typed. */
function keepNow(): void {
  clearTimeout(resting);
  const now = JSON.stringify({ draft: draft.peek(), settings: changedSettings() });
  if (place && now !== held) keep(place, now);
}
addEventListener('pagehide', keepNow);

// Another tab has sent or changed the draft that stands here, too.
addEventListener('storage', ({ key, oldValue, newValue, storageArea }) => {
  if (!place || !ofBrowser.is(storageArea) || key !== keyOf(place)) return;
  if (draft.peek() !== (parsed(oldValue)?.draft ?? '')) return;
  const next = parsed(newValue)?.draft ?? '';
  // It is kept by that tab: written once more, late, it would take from there what has been typed since.
  held = JSON.stringify({ draft: next, settings: changedSettings() });
  draft.value = next;
});

const oldest = ofBrowser.keys(PREFIX).map((key) => ({ key, at: parsed(ofBrowser.get(key))?.at ?? 0 })).sort((one, other) => other.at - one.at).slice(MOST_KEPT);
for (const { key } of oldest) ofBrowser.remove(key);
