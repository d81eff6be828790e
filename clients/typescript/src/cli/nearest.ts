// What a misspelt word was meant to be.

/** The most letters that are wrong, missing or too many in a word that is still known. */
const MOST_WRONG = 2;

/** ` Did you mean …?` where one of the known words is near enough. */
export function meant(word: string, known: readonly string[]): string {
  const near = known.map((each) => ({ each, wrong: each.startsWith(word) ? 0 : distance(word, each) })).sort((a, b) => a.wrong - b.wrong)[0];
  return near && near.wrong <= MOST_WRONG ? ` Did you mean ${near.each}?` : "";
}

/** Letters to be changed, put in or taken out to make one word of the other; two that have changed places count once. */
function distance(one: string, other: string): number {
  const rows = [[...Array(other.length + 1).keys()]];
  for (let at = 1; at <= one.length; at += 1) {
    const row = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const isSame = one[at - 1] === other[to - 1];
      const steps = [rows[at - 1]![to]! + 1, row[to - 1]! + 1, rows[at - 1]![to - 1]! + (isSame ? 0 : 1)];
      if (one[at - 1] === other[to - 2] && one[at - 2] === other[to - 1]) steps.push((rows[at - 2]?.[to - 2] ?? Infinity) + 1);
      row.push(Math.min(...steps));
    }
    rows.push(row);
  }
  return rows[one.length]![other.length]!;
}
