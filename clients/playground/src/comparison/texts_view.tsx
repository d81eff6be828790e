// Where two answers differ, word by word: what only one of them has is marked, and long stretches that both have are left out.
import { useMemo } from 'preact/hooks';
import { compared } from '../../../typescript/src/cli/difference.js';

type Sign = ReturnType<typeof compared>[number]['sign'];

/** Words that both have are shown so far around a difference. */
const AROUND = 8;

const wordsOf = (text: string): string[] => text.match(/\S+\s*/g) ?? [];

/** Stretches of words that are alike in whether one has them or both. */
export function stretchesOf(left: string, right: string): { sign: Sign; words: string[] }[] {
  const stretches: { sign: Sign; words: string[] }[] = [];
  for (const { sign, text } of compared(wordsOf(left), wordsOf(right))) {
    const last = stretches.at(-1);
    if (last?.sign === sign) last.words.push(text);
    else stretches.push({ sign, words: [text] });
  }
  return stretches;
}

export function TextsView({ left, right, names }: { left: string; right: string; names: readonly [string, string] }) {
  const stretches = useMemo(() => stretchesOf(left, right), [left, right]);
  return (
    <section class="differing" aria-label="What differs in the texts">
      <h3>What differs in the texts</h3>
      <p class="muted">
        <del>Only in:</del> {names[0]} · <ins>only in:</ins> {names[1]}
      </p>
      <p class="words" dir="auto">
        {stretches.map(({ sign, words }, at) => {
          const text = words.join('');
          if (sign === '-') return <del key={at}>{text}</del>;
          if (sign === '+') return <ins key={at}>{text}</ins>;
          if (words.length <= 2 * AROUND) return text;
          const [before, behind] = [at > 0 ? words.slice(0, AROUND).join('') : '', at < stretches.length - 1 ? words.slice(-AROUND).join('') : ''];
          return `${before}… ${behind}`;
        })}
      </p>
    </section>
  );
}
