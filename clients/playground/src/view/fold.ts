// What of a box that scrolls is still to be seen.
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Fold {
  /** The lines below the part that is shown. */
  below: number;
  /** Whether the end was shown, now or earlier. */
  isSeen: boolean;
}

/** Follows a box, in whose place another one may come; what was seen in one of them was seen. */
export function useFold(box: HTMLElement | null): Fold {
  const [fold, setFold] = useState<Fold>({ below: 0, isSeen: false });
  useLayoutEffect(() => {
    if (!box) return;
    const look = () => {
      const below = linesBelow(box);
      // A box that has no size shows nothing.
      const isEnd = below === 0 && box.clientHeight > 0;
      setFold((before) => {
        const isSeen = before.isSeen || isEnd;
        return before.below === below && before.isSeen === isSeen ? before : { below, isSeen };
      });
    };
    look();
    const resized = new ResizeObserver(look);
    resized.observe(box);
    const changes = ['scroll', 'input'];
    for (const change of changes) box.addEventListener(change, look, { passive: true });
    return () => {
      resized.disconnect();
      for (const change of changes) box.removeEventListener(change, look);
    };
  }, [box]);
  return fold;
}

function linesBelow(box: HTMLElement): number {
  const { lineHeight, paddingBottom } = getComputedStyle(box);
  // Positions are fractions of a pixel, sizes are not.
  const hidden = box.scrollHeight - box.clientHeight - box.scrollTop - parseFloat(paddingBottom) - 1;
  return Math.max(0, Math.ceil(hidden / parseFloat(lineHeight)));
}
