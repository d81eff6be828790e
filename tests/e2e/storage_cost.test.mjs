// The rows that a turn reads and writes, as the object's own cursors count them, do not grow with the session.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN, eventually, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

const rig = rigForFile(PLAIN);

test('a plain follow-up turn reads 4 rows and writes 5, at turn 1000 as at turn 2', async () => {
  rig.model.otherwise(answer(text('Noted.')));
  const { SessionId } = userTurn();
  const cost = new Map();
  for (let number = 1; number <= 1000; number += 1) {
    rig.logs.length = 0;
    resultOf(await rig.post({ SessionId, TurnId: `turn-${number}`, Instruction: 'One more.' }));
    if (![1, 2, 100, 1000].includes(number)) continue;
    const logged = () => rig.logs.find((line) => line.includes('submission'));
    const { rows_read: read, rows_written: written } = JSON.parse(await eventually(logged, 'the turn is logged'));
    cost.set(number, { read, written });
    rig.model.clear();
    rig.model.otherwise(answer(text('Noted.')));
  }
  console.log('rows of a turn:', JSON.stringify(Object.fromEntries(cost)));
  for (const number of [2, 100, 1000]) assert.deepEqual(cost.get(number), { read: 4, written: 5 }, `turn ${number}`);
});
