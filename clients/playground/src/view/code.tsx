// A piece of code, by pieces of its lines: those that were shown stay as they are while it grows. Owns that its length makes
// no long task: colours come with the pieces that are seen, and other work gets in between.
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { copyText } from './clipboard.js';
import { fetched } from './parts.js';

/** The lines that are coloured, and laid out, as one. */
const LINES = 50;
/** The pieces that are laid out in one go; of a longer text the others follow. */
const AT_ONCE = 10;
/** What is longer is shown in one colour. */
const MOST_COLOURED = 1_000_000;
/** What will soon be scrolled into sight counts as seen. */
const NEARBY: IntersectionObserverInit & { scrollMargin: string } = { scrollMargin: '1000px' };
/** So long colours may come at a stretch, in ms. */
const STRETCH_MS = 10;

interface Props {
  text: string;
  language: string;
  /** More of it may come, so that it is not coloured yet. */
  isGrowing?: boolean;
}

export const Code = memo(({ text, language, isGrowing = false }: Props) => {
  const place = useRef<HTMLElement>(null);
  const pieces = useMemo(() => piecesOf(text), [text]);
  const [laidOut, setLaidOut] = useState(AT_ONCE);
  const isBehind = laidOut < pieces.length;
  useEffect(() => {
    if (!isBehind) return;
    let next: ReturnType<typeof setTimeout> | undefined;
    // In a card that is closed nothing is laid out, and all of it would be when it opens.
    const sight = new IntersectionObserver(([seen]) => {
      if (seen!.isIntersecting) next = setTimeout(() => setLaidOut(laidOut + AT_ONCE));
    });
    sight.observe(place.current!);
    return () => {
      clearTimeout(next);
      sight.disconnect();
    };
  }, [isBehind, laidOut]);
  useEffect(() => {
    if (isGrowing) return;
    const isOver = new AbortController();
    void colour(place.current!, language, isOver.signal);
    return () => isOver.abort();
  }, [text, language, isGrowing]);
  // Its own direction keeps the browser from looking through it for that of the answer, with each change.
  return (
    <div class="code" dir="ltr" onClick={copy}>
      <div class="code-head">
        <span>{language || 'text'}</span>
        <button type="button" class="copy">
          Copy
        </button>
      </div>
      <pre tabIndex={0} role="group" aria-label="Code">
        <code ref={place} data-language={language}>
          {pieces.map((piece, at) => (
            <Piece key={at} text={piece} isHidden={at >= laidOut} />
          ))}
        </code>
      </pre>
    </div>
  );
});

/** Its element is changed when it is coloured, so that its text is not left to the library. */
const Piece = memo(({ text, isHidden }: { text: string; isHidden: boolean }) => {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    place.current!.textContent = text;
  }, [text]);
  return <span class="lines" hidden={isHidden} ref={place} />;
});

/** Whole lines, each with its end. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length || pieces.length === 0; ) {
    let to = from;
    for (let line = 0; line < LINES && to >= 0; line += 1) to = text.indexOf('\n', to) + 1 || -1;
    const end = to < 0 ? text.length : to;
    pieces.push(text.slice(from, end));
    from = end;
  }
  return pieces;
}

/** Colours the pieces of code that an element holds, or the element itself where it holds none, as they come near to sight. */
export async function colour(place: HTMLElement, language: string, isOver?: AbortSignal): Promise<void> {
  if (place.textContent!.length > MOST_COLOURED) return;
  const part = await fetched(import('./highlight.js'));
  const read = part?.reader(language);
  if (!part || !read || isOver?.aborted) return;
  const held = [...place.querySelectorAll<HTMLElement>(':scope > .lines')];
  const pieces = held.length > 0 ? held : [place];
  /** The pieces that were read, in their order: what one of them means may hang on those before it. */
  const done: string[] = [];
  const seen = new Set<HTMLElement>();
  let isReading = false;
  const show = async () => {
    if (isReading) return;
    isReading = true;
    let began = performance.now();
    for (const [at, piece] of pieces.entries()) {
      if (seen.size === 0 || isOver?.aborted) break;
      done[at] ??= read(piece.textContent!);
      if (seen.delete(piece)) piece.replaceChildren(...part.nodesOf(done[at]));
      if (performance.now() - began < STRETCH_MS) continue;
      await new Promise((resolve) => setTimeout(resolve));
      began = performance.now();
    }
    isReading = false;
    if (seen.size > 0 && !isOver?.aborted) await show();
  };
  const sight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      sight.unobserve(target);
      seen.add(target as HTMLElement);
    }
    void show();
  }, NEARBY);
  for (const piece of pieces) sight.observe(piece);
  isOver?.addEventListener('abort', () => sight.disconnect());
}

/** For a click on a piece of code: copies it where its button was meant. */
export async function copy(event: Event): Promise<void> {
  const button = event.target as HTMLElement;
  if (!button.matches?.('button.copy')) return;
  // An answer with code in it listens, too.
  event.stopPropagation();
  await copyText(button.closest('.code')?.querySelector('code')?.textContent ?? '', 'The code is copied.');
  button.textContent = 'Copied';
}
