// What a change does to a text, line by line, as a person reads it before agreeing: all of it, with a few lines around.

/** Unchanged lines that are shown around a change. */
const AROUND = 3;
/** Beyond so many comparisons, what lies between the first and the last change is shown as taken out and put in. */
const MOST_COMPARED = 4_000_000;

interface Line {
  sign: " " | "-" | "+";
  text: string;
}

/** The lines that go (`-`) and come (`+`), with `@@ line N` above each place. */
export function difference(before: string, after: string): string[] {
  const all = compared(before.split("\n"), after.split("\n"));
  const isNear = all.map(() => false);
  for (const [at, { sign }] of all.entries()) if (sign !== " ") isNear.fill(true, Math.max(0, at - AROUND), at + AROUND + 1);
  const shown: string[] = [];
  let number = 1;
  for (const [at, { sign, text }] of all.entries()) {
    if (isNear[at] && !isNear[at - 1]) shown.push(`@@ line ${number}`);
    if (isNear[at]) shown.push(`${sign} ${text}`);
    if (sign !== "+") number += 1;
  }
  return shown;
}

/** All lines, or words, of both, in order. */
export function compared(before: string[], after: string[]): Line[] {
  let begin = 0;
  while (begin < before.length && begin < after.length && before[begin] === after[begin]) begin += 1;
  let same = 0;
  while (same < before.length - begin && same < after.length - begin && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  const signed = (sign: Line["sign"], texts: string[]) => texts.map((text): Line => ({ sign, text }));
  const [gone, come] = [before.slice(begin, before.length - same), after.slice(begin, after.length - same)];
  return [...signed(" ", before.slice(0, begin)), ...between(gone, come, signed), ...signed(" ", before.slice(before.length - same))];
}

/** By the longest common subsequence. */
function between(gone: string[], come: string[], signed: (sign: Line["sign"], texts: string[]) => Line[]): Line[] {
  if (gone.length * come.length > MOST_COMPARED) return [...signed("-", gone), ...signed("+", come)];
  const width = come.length + 1;
  // How many lines are common from a place on.
  const common = new Uint32Array((gone.length + 1) * width);
  for (let g = gone.length - 1; g >= 0; g -= 1) {
    for (let c = come.length - 1; c >= 0; c -= 1) {
      const at = g * width + c;
      common[at] = gone[g] === come[c] ? common[at + width + 1]! + 1 : Math.max(common[at + width]!, common[at + 1]!);
    }
  }
  const lines: Line[] = [];
  let [g, c] = [0, 0];
  while (g < gone.length && c < come.length) {
    const at = g * width + c;
    if (gone[g] === come[c]) lines.push({ sign: " ", text: gone[(c += 1, g++)]! });
    else if (common[at + width]! >= common[at + 1]!) lines.push({ sign: "-", text: gone[g++]! });
    else lines.push({ sign: "+", text: come[c++]! });
  }
  return [...lines, ...signed("-", gone.slice(g)), ...signed("+", come.slice(c))];
}
