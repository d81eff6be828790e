// Retrieval: documents go into a workspace's index, and chunks of it into a turn (interface §7).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { apiKeys, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

const [ONE, TWO] = ['key-one', 'key-two'];
const key = ONE;
const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [ONE]: 'one', [TWO]: 'two' }) },
  catalog: (catalog, { toolUrl }) => {
    const { default: agent } = catalog.AgentContexts;
    const Http = { Url: toolUrl('/retrieve'), Headers: { Authorization: 'Bearer ${TOOL_SECRET}' }, Limit: 2, MaxBytes: 100 };
    catalog.AgentContexts.service = { ...agent, Retrieval: { Http } };
    catalog.AgentContexts.small = { ...agent, Retrieval: { Index: { Limit: 3, MaxBytes: 60 } } };
  },
});

const INVOICES = 'pub struct InvoiceManager;\n\nimpl InvoiceManager {\n    pub fn close_month(&self) {}\n}\n';
const SHIPPING = 'pub fn ship_parcel(weight: u32) -> u32 {\n    weight\n}\n';
const document = (Path, Contents, more = {}) => ({ Path, Contents, ...more });
const put = (workspace, Documents, more = { key }) => rig.put(workspace, Documents, more);
const search = async (workspace, members, more = { key }) => {
  const got = await rig.request('POST', `/workspaces/${workspace}/search`, { body: members, ...more });
  return resultOf(got).Chunks;
};
const counts = async (workspace, more = { key }) => resultOf(await rig.get(`/workspaces/${workspace}`, more));
/** The context block in the latest request to the model; undefined without one. */
const context = () => {
  const { content } = rig.model.requests.at(-1).body.input.at(-1);
  return content.map(({ text: words }) => words).find((words) => words?.startsWith('[CONTEXT]'));
};

test('documents are indexed, found by parts of identifiers, replaced, removed and erased', async () => {
  const upserted = resultOf(await put('w1', [document('src/invoices.rs', INVOICES), document('src/shipping.rs', SHIPPING)]));
  assert.deepEqual(
    upserted.Documents.map(({ Path, Chunks, Changed }) => [Path, Chunks, Changed]),
    [['src/invoices.rs', 1, true], ['src/shipping.rs', 1, true]],
  );
  assert.ok(upserted.Documents.every(({ ContentHash }) => /^[0-9a-f]{64}$/.test(ContentHash)));
  for (const Query of ['InvoiceManager', 'invoice_manager', 'Where is the invoice manager?']) {
    const [{ Score, ...chunk }, ...others] = await search('w1', { Query, Limit: 1 });
    assert.deepEqual(chunk, { Path: 'src/invoices.rs', StartLine: 1, EndLine: 5, Language: 'rust', Text: INVOICES }, Query);
    assert.ok(Score > 0 && others.length === 0, Query);
  }
  // An unchanged document changes nothing; a changed one is found by its new words only.
  const again = resultOf(await put('w1', [document('src/shipping.rs', SHIPPING)]));
  assert.deepEqual(again.Documents.map(({ Changed, Chunks }) => [Changed, Chunks]), [[false, 1]]);
  resultOf(await put('w1', [document('src/shipping.rs', 'pub fn carry_pigeon() {}\n')]));
  assert.deepEqual(await search('w1', { Query: 'parcel weight' }), []);
  assert.equal((await search('w1', { Query: 'pigeon' })).length, 1);
  assert.deepEqual(await counts('w1'), { Documents: 2, Chunks: 2, Bytes: INVOICES.length + 25 });

  const remove = (path) => rig.request('DELETE', `/workspaces/w1/documents?Path=${encodeURIComponent(path)}`, { key });
  assert.deepEqual(resultOf(await remove('src/shipping.rs')), { Documents: 1, Chunks: 1, Bytes: 25 });
  assert.deepEqual(resultOf(await remove('src/')), { Documents: 1, Chunks: 1, Bytes: INVOICES.length });
  assert.deepEqual(resultOf(await remove('src/')), { Documents: 0, Chunks: 0, Bytes: 0 });
  resultOf(await put('w1', [document('a.md', '# A')]));
  assert.deepEqual(resultOf(await rig.request('DELETE', '/workspaces/w1', { key })), { Documents: 1, Chunks: 1, Bytes: 3 });
  assert.deepEqual(await counts('w1'), { Documents: 0, Chunks: 0, Bytes: 0 });
  resultOf(await put('w1', [document('a.md', '# Anew')]));
  assert.equal((await counts('w1')).Documents, 1);
});

test('a client syncs its files by sending those that a comparison needs', async () => {
  const files = new Map(Array.from({ length: 10_000 }, (_, i) => [`src/part ${i % 50}/größe-${i}.rs`, `fn f${i}() {}\r\n`]));
  const sha256 = (words) => createHash('sha256').update(words).digest('hex');
  const compare = async () => {
    const Documents = [...files].map(([Path, Contents]) => ({ Path, Sha256: sha256(Contents) }));
    return resultOf(await rig.request('POST', '/workspaces/synced/compare', { body: { Documents }, key }));
  };
  assert.deepEqual(await compare(), { Needed: [...files.keys()].sort(), Extra: [] });
  assert.deepEqual(await counts('synced'), { Documents: 0, Chunks: 0, Bytes: 0 });
  const first = [...files].slice(0, 100).map(([path, words]) => document(path, words));
  for (const { Path, Sha256 } of resultOf(await put('synced', [...first, document('old.md', 'gone')].slice(1))).Documents) {
    assert.equal(Sha256, sha256(files.get(Path) ?? 'gone'));
  }
  const path = first[50].Path;
  files.set(path, 'fn other() {}\n');
  const { Needed, Extra } = await compare();
  assert.deepEqual(Extra, ['old.md']);
  const known = new Set(first.slice(1).map(({ Path }) => Path));
  assert.deepEqual(Needed, [...files.keys()].filter((each) => each === path || !known.has(each)).sort());
  resultOf(await put('synced', [document(path, files.get(path))]));
  assert.ok(!(await compare()).Needed.includes(path));
});

test('a plus sign in a path is one, or the blank of a form', async () => {
  const remove = (query) => rig.request('DELETE', `/workspaces/plus/documents?${query}`, { key });
  const removed = async (query) => resultOf(await remove(query)).Documents;
  resultOf(await put('plus', ['c++/a.cc', 'c++/b.cc', 'my notes/a.md', 'x+y', 'x y'].map((path) => document(path, 'x'))));
  assert.equal(await removed('Path=c++/a.cc'), 1);
  assert.equal(await removed('Path=c%2B%2B/'), 1);
  assert.equal(await removed(new URLSearchParams({ Path: 'my notes/' })), 1);
  assert.equal(await removed('Path=x+y'), 1);
  assert.equal(await removed('Path=x%2By'), 0);
  assert.equal(await removed('Path=x%20y'), 1);
});

test('a scope is held to exactly', async () => {
  resultOf(await put('scoped', [
    document('src/a.rs', 'fn needle() {}', { Properties: { team: ['core', 'edge'], stage: 'live' } }),
    document('docs/a.md', 'needle', { Properties: { team: 'docs' } }),
  ]));
  for (const [conditions, paths] of [
    [[], ['docs/a.md', 'src/a.rs']],
    [[['Language', '==', ['rust']]], ['src/a.rs']],
    [[['Path', 'contains', ['docs/', 'other/']]], ['docs/a.md']],
    [[['team', '==', ['edge']]], ['src/a.rs']],
    [[['team', '!=', ['edge']]], ['docs/a.md']],
    [[['stage', '!=', ['live']]], ['docs/a.md']],
    [[['stage', 'does_not_contain', ['iv']], ['team', '==', ['docs']]], ['docs/a.md']],
    [[['team', '==', ['Edge']]], []],
  ]) {
    const Conditions = conditions.map(([Key, Operator, Values]) => ({ Key, Operator, Values }));
    const found = await search('scoped', { Query: 'needle', RagScope: { Conditions } });
    assert.deepEqual(found.map(({ Path }) => Path).sort(), paths, JSON.stringify(Conditions));
  }
});

test('a workspace of another tenant is another workspace', async () => {
  resultOf(await put('shared', [document('a.txt', 'tenant one alone')]));
  assert.deepEqual(await search('shared', { Query: 'alone' }, { key: TWO }), []);
  assert.equal((await counts('shared', { key: TWO })).Documents, 0);
  assert.deepEqual(refusalOf(await put('shared', [document('a.txt', 'x')], {})), [401, 'unauthenticated']);
});

test('a turn is given the best chunks behind its own artifacts, once', async () => {
  resultOf(await put('turns', [document('src/invoices.rs', INVOICES), document('src/shipping.rs', SHIPPING)]));
  rig.model.script(answer(text('There.')), answer(text('Again.')));
  const turn = userTurn({
    Instruction: 'Where does the invoice manager close a month?',
    WorkspaceId: 'turns',
    InputArtifacts: [{ RelativePath: '', FileName: 'note.txt', Contents: 'Mine.', Origin: 'user' }],
  });
  resultOf(await rig.post(turn, { key }));
  assert.equal(
    context(),
    '[CONTEXT]\n\n=== CHUNK 1 ===\nId: ctx_1\nPath: note.txt\nLines: 1-1\nLanguage: plaintext\n```plaintext\nMine.\n```\n\n' +
      `=== CHUNK 2 ===\nId: ctx_2\nPath: src/invoices.rs\nLines: 1-5\nLanguage: rust\n\`\`\`rust\n${INVOICES}\`\`\`\n`,
  );
  const { Composition } = resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}/trace`, { key }));
  assert.deepEqual(
    Composition.filter(({ Block }) => Block === 'chunk').map(({ Source, Bytes }) => [Source, Bytes]),
    [['InputArtifacts: note.txt', 5], ['retrieval: src/invoices.rs', INVOICES.length]],
  );
  // A repeat returns the stored outcome; a turn without a workspace triggers no retrieval.
  assert.equal((await rig.post(turn, { key })).headers.get('idempotent-replayed'), 'true');
  resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: 't2', Instruction: 'The invoice manager?' }, { key }));
  assert.equal(context(), undefined);
});

test('the scope of a turn, and the limits of its context, are held to', async () => {
  resultOf(await put('limits', [
    document('a.txt', `needle ${'long '.repeat(20)}`),
    document('b.txt', 'needle short'),
    document('c/d.txt', 'needle other'),
  ]));
  rig.model.script(answer(text('There.')));
  const turn = userTurn({
    Instruction: 'needle',
    WorkspaceId: 'limits',
    AgentContextId: 'small',
    RagScope: { Conditions: [{ Key: 'Path', Operator: 'does_not_contain', Values: ['c/'] }] },
  });
  resultOf(await rig.post(turn, { key }));
  assert.match(context(), /Path: b\.txt/);
  assert.doesNotMatch(context(), /a\.txt|c\/d\.txt/);
  const { Composition } = resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}/trace`, { key }));
  assert.deepEqual(
    Composition.filter(({ LeftOut, Block }) => Block === 'chunk' && LeftOut).map(({ Source, LeftOut }) => [Source, LeftOut]),
    [['retrieval: a.txt', 'it does not fit the budget of bytes']],
  );
});

test('a retrieval service is asked once, in its own words, and not by continuations', async () => {
  rig.tools.on('/retrieve', JSON.stringify({
    Chunks: [
      { Path: 'x.py', StartLine: 3, EndLine: 4, Language: 'python', Text: 'found = 1\n' },
      { Path: '/etc/passwd', StartLine: 1, EndLine: 1, Language: 'text', Text: 'root' },
      { Path: 'y.py', StartLine: 1, EndLine: 1, Text: 'y' },
      { Path: 'z.py', StartLine: 1, EndLine: 1, Text: 'z' },
    ],
  }));
  rig.model.script(answer(text('There.')));
  const scope = { Conditions: [{ Key: 'team', Operator: '==', Values: ['core'] }] };
  const turn = userTurn({
    Instruction: 'Find it.', WorkspaceId: 'w', Repo: 'r', Language: 'de', RagScope: scope, AgentContextId: 'service',
  });
  resultOf(await rig.post(turn, { key }));
  assert.deepEqual(rig.tools.requests.map(({ body }) => body), [
    { Query: 'Find it.', RagScope: scope, WorkspaceId: 'w', Repo: 'r', Language: 'de', Limit: 2 },
  ]);
  assert.match(context(), /Path: x\.py\nLines: 3-4\nLanguage: python/);
  assert.match(context(), /Path: y\.py\nLines: 1-1\nLanguage: python/);
  assert.doesNotMatch(context(), /passwd|root|z\.py/);
});

test('what is wrong with documents and searches is told at once, and changes nothing', async () => {
  const wrong = await put('wrong', [
    document('../a', 'x'),
    { Path: 'b.txt', Content: 'x' },
    document('c.txt', 'x', { Properties: { k: 1 } }),
    document('d.txt', 'x'),
    document('d.txt', 'y'),
  ]);
  assert.deepEqual(
    [wrong.status, ...wrong.json.Errors.map(({ ErrorCode, Path }) => `${ErrorCode} ${Path}`)],
    [
      400,
      'invalid_field /Documents/0/Path',
      'unknown_field /Documents/1/Content',
      'missing_field /Documents/1/Contents',
      'invalid_field /Documents/2/Properties/k',
      'invalid_field /Documents/4/Path',
    ],
  );
  for (const [method, route, body, expected] of [
    ['PUT', '/documents', '{', [400, 'malformed_json']],
    ['PUT', '/documents', { Documents: [] }, [400, 'invalid_field']],
    ['PUT', '/documents', { Documents: Array.from({ length: 101 }, (_, i) => document(`${i}.txt`, 'x')) }, [400, 'invalid_field']],
    ['DELETE', '/documents', undefined, [400, 'missing_field']],
    ['DELETE', '/documents?Path=%2Fetc', undefined, [400, 'invalid_field']],
    ['DELETE', '/documents?Path=a&Recursive=1', undefined, [400, 'unknown_field']],
    ['POST', '/documents', {}, [405, 'method_not_allowed']],
    ['POST', '/search', {}, [400, 'missing_field']],
    ['POST', '/search', { Query: ' ' }, [400, 'invalid_field']],
    ['POST', '/search', { Query: 'x', Limit: 101 }, [400, 'invalid_field']],
    ['POST', '/search', { Query: 'x', RagScope: { Conditions: [{ Key: 'a', Operator: '~', Values: [] }] } }, [400, 'invalid_field', 'invalid_field']],
    ['POST', '/compare', { Documents: [] }, [400, 'invalid_field']],
    ['POST', '/compare', { Documents: [{ Path: '/a', Sha256: 'A'.repeat(64) }] }, [400, 'invalid_field', 'invalid_field']],
    ['GET', '/search', undefined, [405, 'method_not_allowed']],
    ['GET', '/nothing', undefined, [404, 'not_found']],
  ]) {
    assert.deepEqual(refusalOf(await rig.request(method, `/workspaces/wrong${route}`, { body, key })), expected, `${method} ${route}`);
  }
  for (const id of ['%FE', '%FF', 'a%C3']) {
    assert.deepEqual(refusalOf(await rig.get(`/workspaces/${id}`, { key })), [400, 'invalid_field'], id);
  }
  assert.deepEqual(await counts('wrong'), { Documents: 0, Chunks: 0, Bytes: 0 });
  for (const Query of ['"', 'NEAR(a b)', 'a AND', '*', 'a:b', '\u{1F600}', 'the of and', '-'.repeat(1000)]) await search('wrong', { Query });
});
