// Keys that an input method may mean, and the key that ends a line.

/**
 * Whether the key is part of a composition, as of Japanese. Of the key that ends one, Safari tells behind its end, and then
 * by the old code alone.
 */
export const isOfComposition = ({ isComposing, keyCode }: KeyboardEvent): boolean => isComposing || keyCode === IN_COMPOSITION;
const IN_COMPOSITION = 229;

/** Whether `Enter` was pressed by itself. */
export const isEnter = (event: KeyboardEvent): boolean => event.key === 'Enter' && !isOfComposition(event);
