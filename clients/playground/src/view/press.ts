// Whether the page is being pressed. A browser gives a click to what lies below the press and below the release: what moves away
// between them is not clicked. So what would move things waits for the release.

let isPressed = false;
const waiting: (() => void)[] = [];

addEventListener('pointerdown', ({ isPrimary, button }) => (isPressed ||= isPrimary && button === 0), { capture: true, passive: true });
// The last one is of the window alone: a press takes the focus from what had it.
addEventListener('pointerup', end, { capture: true, passive: true });
addEventListener('pointercancel', end, { capture: true, passive: true });
addEventListener('blur', end);

function end(): void {
  isPressed = false;
  // The click comes behind the release.
  setTimeout(() => {
    for (const go of waiting.splice(0)) go();
  });
}

/**
 * Keeps the second half of a double click from what it was not meant for: the first one has taken away what was pressed, and a
 * question of which nobody has read a word may stand in that place.
 */
export const onlyFirst = (event: MouseEvent): void => void (event.detail > 1 && event.stopPropagation());

/** Resolves when nothing is pressed any more. */
export const released = (): Promise<void> | void => {
  if (isPressed) return new Promise((resolve) => waiting.push(resolve));
};
