// A lane: one process that runs test files one after another, as run.mjs hands them to it, so that Node, the modules and
// what files share (tests/shared.mjs) are there once. A file is a suite; its hooks are those of the suite.
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { endShared, keepShared } from '../../tests/shared.mjs';
import { processorTime } from './processor_time.mjs';

/** A file that does not end is ended and named, in ms. */
const LONGEST_MS = 300_000;

keepShared();
for (let file; (file = await next()) !== undefined; ) {
  const from = { seconds: processorTime(), at: performance.now() };
  await describe(file, { timeout: LONGEST_MS }, () => import(pathToFileURL(file)));
  process.send({ done: file, processor: processorTime() - from.seconds, wall: (performance.now() - from.at) / 1000 });
}
await endShared();
process.disconnect();

function next() {
  const given = new Promise((resolve) => process.once('message', ({ file }) => resolve(file)));
  process.send({ ready: true });
  return given;
}
