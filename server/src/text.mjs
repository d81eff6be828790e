// The text of a file that an operator wrote. Owns that some editors write a mark before it, and that some do not write UTF-8.

/** The text without that mark; `undefined` of bytes that are none. */
export function textOf(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
