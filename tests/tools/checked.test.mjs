// A check of files is made once for the same contents, and again for others or where it failed.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { unlessChecked } from '../checked.mjs';

test('what has passed is not checked again until a file, a name or the checking program is another one', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'checked-'));
  const name = path.basename(folder);
  let made = 0;
  const isMade = async (more, check = () => {}) => {
    const before = made;
    await unlessChecked(name, [folder], () => ((made += 1), check()), more);
    return made > before;
  };
  try {
    mkdirSync(path.join(folder, 'src'));
    writeFileSync(path.join(folder, 'src/a.ts'), 'a');
    const fails = () => assert.rejects(isMade('1', () => Promise.reject(new Error('wrong'))), /wrong/);
    await fails();
    await fails();
    assert.deepEqual([await isMade('1'), await isMade('1')], [true, false]);
    writeFileSync(path.join(folder, 'src/a.ts'), 'b');
    assert.deepEqual([await isMade('1'), await isMade('1')], [true, false]);
    writeFileSync(path.join(folder, 'src/b.ts'), '');
    assert.deepEqual([await isMade('1'), await isMade('1')], [true, false]);
    assert.deepEqual([await isMade('2'), await isMade('2')], [true, false]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(new URL(`../../target/test_run/checked/${name}`, import.meta.url), { force: true });
  }
});
