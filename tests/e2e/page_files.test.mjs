// The playground's files where those who keep them fail (interface §1, `GET /`).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf, rigForFile } from './harness.mjs';

/** The Worker, from whose assets nothing can be had. */
const WITHOUT_FILES = [
  {
    name: 'without_files.js',
    contents: `import Worker from './index.js';
      export * from './index.js';
      export default class extends Worker {
        constructor(ctx, env) {
          super(ctx, { ...env, ASSETS: { fetch: async () => new Response('Busy.', { status: 500 }) } });
        }
      }`,
  },
];
const rig = rigForFile({ vars: { PLAYGROUND: 'on' }, front: WITHOUT_FILES });

test('a file that cannot be had at the moment is not kept as the file', async () => {
  for (const target of ['/', '/playground/page-1A2B3C4D.js']) {
    const got = await rig.get(target);
    assert.deepEqual([refusalOf(got), got.headers.get('cache-control')], [[404, 'not_found'], 'no-store'], target);
  }
});
