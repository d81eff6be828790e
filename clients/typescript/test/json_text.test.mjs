// JSON for a human who decides about it: the same JSON, token for token, and nothing in it that cannot be seen.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatJson } from '../dist/index.js';

test('each member and element has a line of its own, and each token is as it was written', () => {
  const written = '{"a":1.10,"b":[12345678901234567890,1e400,-0],"c":{},"d":[ ],"e":"\\u0041 : {\\"x\\",","f":[{"g":null}]}';
  const lines = [
    '{', '  "a": 1.10,', '  "b": [', '    12345678901234567890,', '    1e400,', '    -0', '  ],', '  "c": {},', '  "d": [],',
    '  "e": "\\u0041 : {\\"x\\",",', '  "f": [', '    {', '      "g": null', '    }', '  ]', '}',
  ];
  assert.equal(formatJson(written), lines.join('\n'));
  assert.equal(formatJson(lines.join('\r\n\t')), lines.join('\n'));
  for (const single of ['null', '""', '12345678901234567890', '[]', '{}']) assert.equal(formatJson(` ${single}\n`), single);
});

test('what cannot be seen, or turns the reading order, is written out, and the JSON stays the same', () => {
  for (const [unseen, written] of [
    ['\u202e', '\\u202e'], ['\u2066', '\\u2066'], ['\u200b', '\\u200b'], ['\u200d', '\\u200d'], ['\ufeff', '\\ufeff'], ['\u00ad', '\\u00ad'],
    ['\u00a0', '\\u00a0'], ['\u2028', '\\u2028'], ['\u3000', '\\u3000'], ['\u3164', '\\u3164'], ['\u2800', '\\u2800'], ['\u009b', '\\u009b'],
    ['\ufe0f', '\\ufe0f'], ['\u{e0041}', '\\udb40\\udc41'], ['\ud800', '\\ud800'], ['\ue000', '\\ue000'],
  ]) {
    const json = `{"k${unseen}":"a${unseen}b \\\\${unseen}"}`;
    const shown = formatJson(json);
    assert.equal(shown, `{\n  "k${written}": "a${written}b \\\\${written}"\n}`);
    assert.deepEqual(JSON.parse(shown), JSON.parse(json));
  }
  const seen = '"äß€漢字 שלום عربي 🌍 é a  b"';
  assert.equal(formatJson(seen), seen);
  assert.equal(formatJson('no JSON,\n  but \u202etext'), 'no JSON,\n  but \\u202etext');
});

test('any JSON keeps its value, and long and deep ones take no longer than their length asks', () => {
  const values = [{ 'a"b\\': ['\\', '"', '\\"', '{', ',', ':'] }, [[[]], [{}], ''], 'x\\\\"', { '': { '': '' } }];
  for (const value of values) assert.deepEqual(JSON.parse(formatJson(JSON.stringify(value))), value);
  const long = JSON.stringify({ text: 'a\\"'.repeat(500_000), list: Array(200_000).fill(1) });
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const began = performance.now();
  assert.ok(formatJson(long).length > long.length);
  assert.ok(formatJson(deep).length < 50 * deep.length);
  assert.ok(performance.now() - began < 5_000);
});
