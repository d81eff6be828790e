// The search in the texts of all sessions, below that in their titles.
import { cancelSearch, searchTexts, STEP, textSearch, type FoundSession } from '../store/text_search.js';
import { find } from './find_bar.js';
import { Icon } from './icon.js';

/** `open` goes to a session. */
export function TextResults({ open }: { open(id: string): void }) {
  const search = textSearch.value;
  if (!search) {
    return (
      <button type="button" class="plain" onClick={() => void searchTexts()}>
        <Icon name="search" /> Search what was said, too
      </button>
    );
  }
  const { words, isGoing, read, of, found, unread, hasMore } = search;
  return (
    <section class="text-results" aria-label="Found in what was said">
      <p class="muted" role="status">
        {isGoing ? `Reading: ${read} of ${counted(of)}.` : `${found.length === 0 ? 'Nothing found' : `${found.length} found`} in ${counted(read)}.`}
        {unread > 0 && ` ${unread} could not be read.`}
      </p>
      {isGoing && (
        <>
          <progress value={read} max={Math.max(1, of)} aria-label="Sessions that were read" />
          <button type="button" onClick={cancelSearch}>
            Cancel
          </button>
        </>
      )}
      <ul>
        {found.map((each) => (
          <Found key={each.session.id} found={each} onOpen={() => (open(each.session.id), find(words))} />
        ))}
      </ul>
      {!isGoing && hasMore && (
        <button type="button" class="plain" onClick={() => void searchTexts()}>
          {`Read up to ${STEP} more sessions`}
        </button>
      )}
    </section>
  );
}

const counted = (sessions: number): string => `${sessions} ${sessions === 1 ? 'session' : 'sessions'}`;

const Found = ({ found: { session, count, excerpt }, onOpen }: { found: FoundSession; onOpen(): void }) => (
  <li>
    <button type="button" class="session" onClick={onOpen}>
      <span dir="auto">{session.title}</span>
      <small dir="auto">
        {excerpt[0]}
        <mark>{excerpt[1]}</mark>
        {excerpt[2]}
      </small>
      <small>{count === 1 ? 'once' : `${count} times`}</small>
    </button>
  </li>
);
