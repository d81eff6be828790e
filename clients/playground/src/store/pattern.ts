// What counts as an occurrence of the words that are sought: in capitals or not, whatever white space stands between.
export function patternOf(words: string): RegExp | undefined {
  const pieces = words.split(/\s+/).filter(Boolean);
  if (pieces.length === 0) return undefined;
  return new RegExp(pieces.map((piece) => piece.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('\\s+'), 'giu');
}
