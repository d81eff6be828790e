// The key that ends a line.

/**
 * Whether `Enter` was pressed by itself. Of the one that ends a composition, as of Japanese, Safari tells behind its end,
 * and then by the old code alone.
 */
export const isEnter = ({ key, isComposing, keyCode }: KeyboardEvent): boolean => key === 'Enter' && !isComposing && keyCode !== IN_COMPOSITION;
const IN_COMPOSITION = 229;
