// A long text of a human: its first lines, and the rest when it is wanted.
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

/** What is sought in a folded text asks it to unfold. */
export const UNFOLD = 'unfold';

export function LongText({ text }: { text: string }) {
  const [box, setBox] = useState<HTMLElement | null>(null);
  const [isLong, setLong] = useState(false);
  const [isWhole, setWhole] = useState(false);
  useLayoutEffect(() => {
    if (!box || isWhole) return;
    const resized = new ResizeObserver(() => setLong(box.scrollHeight > box.clientHeight + 1));
    resized.observe(box);
    return () => resized.disconnect();
  }, [box, isWhole, text]);
  useEffect(() => {
    const unfold = () => setWhole(true);
    box?.addEventListener(UNFOLD, unfold);
    return () => box?.removeEventListener(UNFOLD, unfold);
  }, [box]);
  return (
    <>
      <p ref={setBox} dir="auto" class={`long${isWhole ? '' : ' folded-text'}${isLong && !isWhole ? ' cut' : ''}`}>
        {text}
      </p>
      {isLong && (
        <button type="button" class="plain" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show all of it'}
        </button>
      )}
    </>
  );
}
