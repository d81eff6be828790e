// A Markdown text that grows is read as blocks, each once, with the same end as when it is read as a whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Marked } from 'marked';

const entryPoints = [fileURLToPath(new URL('../../clients/playground/src/view/blocks.ts', import.meta.url))];
const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false });
const { Blocks } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);

/** Counts the characters that are read. */
class Counted extends Marked {
  read = 0;
  lexer = (text, options) => ((this.read += text.length), new Marked().lexer(text, options));
}
const html = (tokens) => new Marked().parser(tokens);
const rows = (count) => Array.from({ length: count }, (_, at) => `| row ${at} | **${at}** | \`x\` |`).join('\n');
const TABLE = (count) => `| a | b | c |\n|---|:-:|--:|\n${rows(count)}\n`;
const TEXTS = {
  mixed: '# A\n\nText *one*\nand more.\n\n- a\n\n- b\n  - c\n\n1. d\n\n```js\nlet a;\n\n# no heading\n```\n\n> quote\n\nSet\n===\n\n<b>x</b>\n\nend',
  'a long table between texts': `Before\n\n${TABLE(95)}\nAfter it.\n\nAnd more.`,
  'a long table behind a line': `Before:\n${TABLE(41)}`,
  'a definition at the end': 'See [it].\n\nMore.\n\nAnd more.\n\n[it]: https://example.com/\n',
  'other ends of lines': 'One\r\n\r\nTwo\r\n\r\nThree\r\n',
};

for (const [name, text] of Object.entries(TEXTS)) {
  for (const step of [1, 7, 64]) {
    test(`${name}, by ${step} characters, ends as the whole`, () => {
      const blocks = new Blocks(new Marked());
      let last;
      for (let at = step; at < text.length + step; at += step) last = blocks.of(text.slice(0, at));
      const whole = new Marked().lexer(text).filter(({ type }) => type !== 'space');
      assert.equal(html(last), html(whole));
    });
  }
}

test('what is read grows with the text, and not with its square', () => {
  const table = TABLE(1600);
  const prose = Array.from({ length: 500 }, (_, at) => `Paragraph ${at} of a long answer, with *some* words in it.`).join('\n\n');
  for (const text of [table, prose]) {
    const marked = new Counted();
    const blocks = new Blocks(marked);
    const steps = 1000;
    const length = Math.ceil(text.length / steps);
    for (let at = length; at < text.length + length; at += length) blocks.of(text.slice(0, at));
    assert.ok(marked.read < steps * 2200, `${marked.read} characters read of ${text.length}`);
  }
});
