// A chunk: where it stands, its score and what made it, and its text with the words that were searched for.
import { Icon } from '../view/icon.js';
import type { Chunk, Explanation } from './workspace.js';

/** The lines that are shown before the rest is asked for. */
const FIRST_LINES = 8;
/** Shorter words mark too much. */
const SHORTEST_WORD = 3;

interface Props {
  chunk: Chunk;
  query: string;
  rank?: number;
  /** The best score of the search. */
  best?: number | undefined;
}

export function ChunkView({ chunk: { Path, StartLine, EndLine, Language, Text, Score, Explain }, query, rank, best }: Props) {
  const words = Explain ? Explain.Terms.map(({ Term }) => Term) : (query.match(/[\p{L}\p{N}]+/gu) ?? []);
  const lines = Text.replace(/\n$/, '').split('\n');
  const first = lines.slice(0, FIRST_LINES).join('\n');
  return (
    <li class="chunk card">
      <header>
        {rank !== undefined && <span class="rank">{rank}</span>}
        <span class="place">
          <strong>{rank === undefined ? `Lines ${StartLine} to ${EndLine}` : Path}</strong>
          <small>{[rank !== undefined && `lines ${StartLine} to ${EndLine}`, Language].filter(Boolean).join(' · ')}</small>
        </span>
        {Score !== undefined && rank !== undefined && (
          <span class="score">
            <span class="hidden">Score </span>
            {Score.toFixed(2)}
            <meter min={0} max={best || 1} value={Score} aria-label={`Score ${Score.toFixed(2)} of at best ${(best ?? Score).toFixed(2)}`} />
          </span>
        )}
      </header>
      {Explain && rank !== undefined && <Why explain={Explain} />}
      <pre dir="auto" tabIndex={0} role="group" aria-label={`Text of ${Path}, lines ${StartLine} to ${EndLine}`}><Marked text={first} words={words} /></pre>
      {lines.length > FIRST_LINES && (
        <details>
          <summary>
            {`${lines.length - FIRST_LINES} more lines`} <Icon name="chevron" />
          </summary>
          <pre dir="auto" tabIndex={0} role="group" aria-label={`The rest of ${Path}, to line ${EndLine}`}><Marked text={lines.slice(FIRST_LINES).join('\n')} words={words} /></pre>
        </details>
      )}
    </li>
  );
}

function Why({ explain: { Chunk: own, Document: lent, Place, Terms } }: { explain: Explanation }) {
  return (
    <div class="why">
      <ul aria-label="Terms that made the score">
        {Terms.map(({ Term, Score, Fields }) => (
          <li key={Term}>
            <strong>{Term}</strong> {Score.toFixed(2)} <small>{Fields.join(', ').toLowerCase()}</small>
          </li>
        ))}
      </ul>
      <small>
        {`${own.toFixed(2)} for its own text and ${lent.toFixed(2)} for its document`}
        {Place > 0 && `, divided by ${4 ** Place}: better chunks of this document: ${Place}`}
      </small>
    </div>
  );
}

function Marked({ text, words }: { text: string; words: readonly string[] }) {
  const sought = words.filter((word) => word.length >= SHORTEST_WORD).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (sought.length === 0) return <>{text}</>;
  // A pattern with one group splits a text into what is beside and what is inside of it, in turn.
  return <>{text.split(new RegExp(`(${sought.join('|')})`, 'gi')).map((piece, at) => (at % 2 === 1 ? <mark key={at}>{piece}</mark> : piece))}</>;
}
