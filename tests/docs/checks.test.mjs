// The checks of pages find what is wrong: an unknown block, a command that does not exist, an output that differs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandsOf, problemsOf } from './commands.mjs';
import { checkOutput } from './output.mjs';
import { anchorsOf, pageOf } from './pages.mjs';

test('no block escapes: its language and its marks are known, and its fence is closed', () => {
  const faultsOf = (...lines) => pageOf('page.md', lines.join('\n')).faults;
  assert.deepEqual(faultsOf('```sh serves=8787', 'make dev', '```', '```json output', '{}', '```'), []);
  for (const lines of [
    ['```', 'make dev', '```'],
    ['```bash', 'make dev', '```'],
    ['```sh not-run=lazy', 'make dev', '```'],
    ['```sh serves=all', 'make dev', '```'],
    ['```sh skip', 'make dev', '```'],
    ['```ts not-run=key', 'run();', '```'],
    ['```json', '{}', '```'],
    ['  ```sh', 'make dev', '```'],
    ['~~~sh', 'make dev', '~~~'],
    ['```sh', 'make dev'],
  ]) {
    assert.notDeepEqual(faultsOf(...lines), [], lines.join('\n'));
  }
});

test('an anchor is the one that a heading has on GitHub', () => {
  const page = pageOf('page.md', '# A *word*: `code`, and more\n## Again\n## Again\n## 2. POST /execute');
  assert.deepEqual(anchorsOf(page), ['a-word-code-and-more', 'again', 'again-1', '2-post-execute']);
});

test('a script is read as its commands', () => {
  const script = `key=$(openssl rand -hex 24); echo "a $(cat file | tr -d '\\n') b" > out # make nothing
    curl -s 'http://x/?a=(b)' \\
      -d '{ "A": "$(not a command)" }' 2>/dev/null | grep -c x && npx wrangler deploy`;
  assert.deepEqual(commandsOf(script).map(([program]) => program), ['openssl', 'key=$()', 'cat', 'tr', 'echo', 'curl', 'grep', 'npx']);
});

test('a command that does not exist is found', async () => {
  for (const right of ['QUICK=1 make bench', 'make dev CATALOG=a.json', 'npx wrangler kv key put --remote --binding B catalog --path a.json', 'sudo apt-get update']) {
    assert.deepEqual(await problemsOf(right), [], right);
  }
  for (const wrong of [
    'make tea',
    'make dev CATALOGUE=a.json',
    'npx wrangler kv key post a b',
    'npx wrangler secret put NAME --now',
    'npx wrangler r2 bucket create one two',
    'pacman -S make',
    'tools/no_such_tool',
    'echo "unclosed',
  ]) {
    assert.notDeepEqual(await problemsOf(wrong), [], wrong);
  }
});

test('an output is what the page states, but for what the page leaves open', () => {
  const json = (stated, actual) => checkOutput('json', JSON.stringify(stated), JSON.stringify(actual));
  json({ A: '…', B: 'x…z', C: [1, '…'], D: { E: 1, '…': '…' } }, { A: [1], B: 'xyz', C: [1, 2, 3], D: { E: 1, F: 2 } });
  for (const [stated, actual] of [
    [{ A: 1 }, { A: 2 }],
    [{ A: 1 }, { A: 1, B: 2 }],
    [{ A: 1, '…': '…' }, { B: 1 }],
    [{ A: 'x…' }, { A: 'yx' }],
    [{ A: [1, '…'] }, { A: [] }],
    [{ A: [1] }, { A: [1, 2] }],
  ]) {
    assert.throws(() => json(stated, actual), JSON.stringify({ stated, actual }));
  }
  checkOutput('text', 'one\n…\nthree.', 'zero\none  \ntwo\nthree. four');
  for (const wrong of ['one three', 'one\ntwo\nthree!', 'three.\none']) {
    assert.throws(() => checkOutput('text', 'one\n…\nthree.', wrong), wrong);
  }
  assert.throws(() => checkOutput('json', '{}', 'no JSON'));
});
