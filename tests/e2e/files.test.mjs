// Files from server tools: stored separately, served by signed links, erased with their session (interface §8).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { apiKeys, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const TTL_S = 3600;
const [ONE, TWO] = ['key-one', 'key-two'];
const CONTENTS = 'file-contents-0b61-never-shown';
const BYTES = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256));
const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [ONE]: 'one', [TWO]: 'two' }), FILE_TTL_S: String(TTL_S), ALLOWED_ORIGINS: 'https://app.example' },
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('make', toolUrl));
    catalog.Modes[0].Tools.push('make');
  },
  hidden: [[CONTENTS]],
});
const key = ONE;
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const inline = (Name, Text, more = {}) => ({ Name, MimeType: 'text/plain', Text, ...more });

/** Runs a turn whose tool returns these files; resolves to its result. */
async function turnWith(files, turn = userTurn(), more = { key }) {
  rig.tools.on('/make', JSON.stringify({ note: 'done', Files: files }));
  rig.model.script(answer(call('make', { q: 'x' })), answer(text('Made.')));
  return resultOf(await rig.post(turn, more));
}

/** Path and query of a link. */
const targetOf = ({ Url }) => new URL(Url).pathname + new URL(Url).search;
const head = (response, name) => response.headers.get(name);

test('a file goes from the tool to the client byte for byte, and nowhere else', async () => {
  const csv = `id;größe\r\n1;${CONTENTS}\r\n`;
  const turn = userTurn();
  const { Files } = await turnWith(
    [
      inline('Q3 größe.csv', csv, { MimeType: 'text/csv', Description: 'The third quarter.' }),
      { Name: 'chart.png', MimeType: 'image/png', DataBase64: BYTES.toString('base64') },
      { Name: 'big.iso', MimeType: 'a/b', Url: 'https://cdn.example/big.iso', SizeBytes: 9, ContentHash: 'c'.repeat(64) },
    ],
    turn,
  );
  const [file, image, elsewhere] = Files;
  assert.deepEqual({ ...file, Url: 0, ContentExpires: 0 }, {
    Name: 'Q3 größe.csv', MimeType: 'text/csv', Url: 0, SizeBytes: Buffer.byteLength(csv),
    ContentHash: sha256(`id;größe\n1;${CONTENTS}\n\n`), Description: 'The third quarter.', ContentExpires: 0,
  });
  const left = Date.parse(file.ContentExpires) - Date.now();
  assert.ok(left > (TTL_S - 60) * 1000 && left <= TTL_S * 1000, file.ContentExpires);
  assert.equal(new URL(file.Url).origin, rig.url.origin);
  assert.deepEqual(elsewhere, {
    Name: 'big.iso', MimeType: 'a/b', Url: 'https://cdn.example/big.iso', SizeBytes: 9, ContentHash: 'c'.repeat(64),
  });

  // The link alone suffices; no key is sent.
  const response = await fetch(file.Url);
  assert.equal(response.status, 200);
  assert.equal(Buffer.from(await response.arrayBuffer()).toString(), csv);
  assert.equal(head(response, 'content-type'), 'text/csv; charset=utf-8');
  assert.equal(head(response, 'content-disposition'), `attachment; filename="Q3 gr__e.csv"; filename*=UTF-8''Q3%20gr%C3%B6%C3%9Fe.csv`);
  assert.equal(head(response, 'x-content-type-options'), 'nosniff');
  assert.equal(head(response, 'content-security-policy'), "default-src 'none'; sandbox");
  assert.equal(head(response, 'content-length'), String(Buffer.byteLength(csv)));
  const bytes = Buffer.from(await (await fetch(image.Url)).arrayBuffer());
  assert.ok(bytes.equals(BYTES));
  assert.equal(image.ContentHash, sha256(BYTES));

  // The model and every view see the reference instead of the contents.
  const output = JSON.parse(rig.model.bodies[1].input[0].output);
  assert.deepEqual(output, { note: 'done', Files });
  assert.ok(!JSON.stringify(rig.model.bodies).includes(CONTENTS));
  for (const view of ['', '/export', '/turns', `/turns/${turn.TurnId}`, `/turns/${turn.TurnId}/trace`]) {
    resultOf(await rig.get(`/sessions/${turn.SessionId}${view}`, { key }));
  }
  // A repeat returns the same outcome, links included.
  assert.deepEqual(resultOf(await rig.post(turn, { key })).Files, Files);
});

test('a part of a file is what its range names, and a file that is known is not sent again', async () => {
  const { Files: [{ Url }] } = await turnWith([{ Name: 'b', MimeType: 'a/b', DataBase64: BYTES.toString('base64') }]);
  const get = async (headers, method = 'GET') => {
    const response = await fetch(Url, { method, headers });
    return { response, status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const tag = head((await get({}, 'HEAD')).response, 'etag');
  for (const [range, from, to] of [
    ['bytes=0-0', 0, 1],
    ['bytes=10-99', 10, 100],
    ['bytes=99990-', 99_990, 100_000],
    ['bytes=-10', 99_990, 100_000],
    ['bytes=50-999999999', 50, 100_000],
  ]) {
    for (const more of [{}, { 'if-range': tag }]) {
      const { response, status, bytes } = await get({ range, ...more });
      assert.equal(status, 206, range);
      assert.ok(bytes.equals(BYTES.subarray(from, to)), range);
      assert.equal(head(response, 'content-range'), `bytes ${from}-${to - 1}/100000`);
      assert.equal(head(response, 'content-length'), String(to - from));
    }
  }
  for (const headers of [{ range: 'bytes=0-1,4-5' }, { range: 'lines=1-2' }, { range: 'bytes=1-2', 'if-range': '"old"' }]) {
    const { status, bytes } = await get(headers);
    assert.deepEqual([status, bytes.length], [200, 100_000], JSON.stringify(headers));
  }
  const beyond = await get({ range: 'bytes=100000-' });
  assert.deepEqual([beyond.status, beyond.bytes.length, head(beyond.response, 'content-range')], [416, 0, 'bytes */100000']);
  const known = await get({ 'if-none-match': tag });
  assert.deepEqual([known.status, known.bytes.length, head(known.response, 'etag')], [304, 0, tag]);
  const only = await get({}, 'HEAD');
  assert.deepEqual([only.status, only.bytes.length, head(only.response, 'content-length')], [200, 0, '100000']);
});

test('a page may fetch a file of an origin that is allowed', async () => {
  const { Files: [{ Url }] } = await turnWith([inline('a', 'x')]);
  const response = await fetch(Url, { headers: { origin: 'https://app.example' } });
  assert.equal(head(response, 'access-control-allow-origin'), 'https://app.example');
  const readable = head(response, 'access-control-expose-headers').split(', ');
  for (const name of ['Accept-Ranges', 'Content-Range', 'ETag']) assert.ok(readable.includes(name), name);
  assert.equal(await response.text(), 'x');
});

test('what a browser could run is handed out as bytes', async () => {
  const page = '<script>alert(1)</script>';
  const { Files } = await turnWith(['text/html', 'image/svg+xml', 'text/javascript'].map((MimeType, i) => inline(`${i}.html`, page + i, { MimeType })));
  for (const { Url } of Files) {
    const response = await fetch(Url);
    assert.equal(head(response, 'content-type'), 'application/octet-stream');
    assert.match(head(response, 'content-disposition'), /^attachment;/);
  }
});

test('a link with anything changed opens nothing, and says nothing of why', async () => {
  const { Files: [{ Url }] } = await turnWith([inline('a.txt', 'x')]);
  const { pathname, search } = new URL(Url);
  const [, object, contents] = /^\/files\/([0-9a-f]{64})-([0-9a-f]{64})$/.exec(pathname);
  const other = sha256('y');
  const refused = [];
  for (const target of [
    pathname,
    `${pathname}?`,
    `/files/${object}-${other}${search}`,
    `/files/${other}-${contents}${search}`,
    `/files/${contents}${search}`,
    `/files/x${search}`,
    `/files/${encodeURIComponent('../')}${search}`,
    pathname + search.replace('a%2Etxt', 'b%2Etxt'),
    pathname + search.replace('text%2Fplain', 'text%2Fhtml'),
    pathname + search.replace(/Expires=\d+/, 'Expires=99999999999'),
    pathname + search.replace(/Signature=.{64}/, `Signature=${'0'.repeat(64)}`),
    pathname + search.replace(/Signature=.{64}/, 'Signature='),
    pathname + search.replace('?', '?Name=a&'),
  ]) {
    assert.notEqual(target, pathname + search);
    const response = await rig.get(target);
    assert.deepEqual(refusalOf(response), [404, 'not_found'], target);
    refused.push(response.text);
  }
  assert.equal(new Set(refused).size, 1);
  assert.deepEqual(refusalOf(await rig.request('DELETE', pathname + search)), [405, 'method_not_allowed']);
  // Mail and chat programs append query parameters of their own.
  assert.equal((await rig.get(`${pathname}${search}&utm_source=mail`)).text, 'x');
});

test('an erased session\'s files are gone at once, and only they', async () => {
  const mine = userTurn();
  const others = userTurn();
  const [own] = (await turnWith([inline('a', 'same'), inline('b', 'other')], mine)).Files;
  const [foreign] = (await turnWith([inline('a', 'same')], others, { key: TWO })).Files;
  assert.notEqual(new URL(own.Url).pathname, new URL(foreign.Url).pathname);
  const before = (await rig.files()).length;
  const receipt = resultOf(await rig.request('DELETE', `/sessions/${mine.SessionId}`, { key }));
  assert.equal(receipt.Files, 2);
  assert.equal((await rig.files()).length, before - 2);
  assert.deepEqual(refusalOf(await rig.get(targetOf(own))), [404, 'not_found']);
  assert.equal((await rig.get(targetOf(foreign))).text, 'same');
  // The new session with the same id stores the file again.
  const [again] = (await turnWith([inline('a', 'same')], { ...mine, TurnId: 'again' })).Files;
  assert.equal((await rig.get(targetOf(again))).text, 'same');
});

test('equal contents are kept once and handed out once', async () => {
  const turn = userTurn();
  const before = (await rig.files()).length;
  rig.tools.on('/make', JSON.stringify({ Files: [inline('a', 'twin'), inline('b', 'twin'), inline('c', 'alone')] }));
  rig.model.script(answer(call('make', { q: '1' })), answer(call('make', { q: '2' })), answer(text('Made.')));
  const { Files } = resultOf(await rig.post(turn, { key }));
  assert.deepEqual(Files.map(({ Name }) => Name), ['a', 'c']);
  assert.equal((await rig.files()).length, before + 2);
});

test('files outlive a restart of everything', async () => {
  const { Files: [file] } = await turnWith([inline('a', 'lasting')]);
  await rig.restart();
  assert.equal((await rig.get(targetOf(file))).text, 'lasting');
});

test('a large file passes, and a large result beside it does not', async () => {
  const large = 'x'.repeat(9_000_000);
  const { Files: [file] } = await turnWith([inline('large.txt', large)]);
  assert.equal(file.SizeBytes, large.length);
  assert.equal(await (await fetch(file.Url)).text(), large);
  rig.tools.on('/make', JSON.stringify({ rest: 'x'.repeat(1_000_001), Files: [inline('a', 'x')] }));
  rig.model.script(answer(call('make', { q: 'x' })));
  assert.deepEqual(refusalOf(await rig.post(userTurn(), { key })), [500, 'server_tool_failed']);
});
