// JSON as it is written, for a human who decides about it: every token as it stands, wrapped, and nothing unseen.
import type { RefCallback } from 'preact';
import { useMemo } from 'preact/hooks';
import { formatJson } from '../../../typescript/src/index.js';
import { Code, copy } from './code.js';

/** Longer texts are shown in one colour: the browser would lay out each of their tokens by itself. */
const MOST_COLOURED = 20_000;
/** A string, perhaps the name of a member, and numbers and words. A pattern with groups gives them in turn. */
const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|([^\s[\]{}:,"]+)/g;
/** Characters that are written out since they cannot be seen, and rows of spaces, in which nobody looks for more. */
const UNSEEN = /((?:\\u[0-9a-f]{4}| {3,})+)/;

/** A card's piece of JSON, as it is written. */
export function Json({ json }: { json: string }) {
  return <Code text={useMemo(() => formatJson(json), [json])} language="json" />;
}

interface Props {
  json: string;
  label: string;
  /** The id of what is said about it. */
  describedBy: string;
  place: RefCallback<HTMLPreElement>;
}

export function JsonText({ json, label, describedBy, place }: Props) {
  const text = useMemo(() => formatJson(json), [json]);
  return (
    <div class="code" onClick={copy}>
      <div class="code-head">
        <span>json</span>
        <button type="button" class="copy">
          Copy
        </button>
      </div>
      <pre class="whole" ref={place} tabIndex={0} role="group" aria-label={label} aria-describedby={describedBy}>
        <code>{text.length > MOST_COLOURED ? text : coloured(text)}</code>
      </pre>
    </div>
  );
}

function coloured(text: string) {
  const pieces = [];
  let from = 0;
  for (const { 0: found, 1: string, 2: colon = '', 3: word = '', index } of text.matchAll(TOKEN)) {
    pieces.push(text.slice(from, index));
    if (string !== undefined) pieces.push(<span class={colon ? 'hljs-attr' : 'hljs-string'}>{withUnseen(string)}</span>, colon);
    else pieces.push(<span class={/^[tfn]/.test(word) ? 'hljs-literal' : 'hljs-number'}>{word}</span>);
    from = index + found.length;
  }
  return [...pieces, text.slice(from)];
}

const withUnseen = (string: string) => string.split(UNSEEN).map((piece, at) => (at % 2 === 1 ? <mark class="unseen">{piece}</mark> : piece));
