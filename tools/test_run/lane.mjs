// A lane: one process that runs test files one after another, as run.mjs hands them to it, so that Node, the modules and
// what files share (tests/shared.mjs) are there once. A file is a suite; its hooks are those of the suite.
import asyncHooks from 'node:async_hooks';
import { pathToFileURL } from 'node:url';
import { endShared, keepShared } from '../../tests/shared.mjs';
import { processorTime } from './processor_time.mjs';

/** A file that does not end is ended and named, in ms. */
const LONGEST_MS = 300_000;

/**
 * By this hook Node's runner learns in which suite a test is declared, and which test an uncaught error belongs to. It sees
 * each promise begin and end, a tenth of a lane's processor time. So it is on while a file is read. Whose an uncaught error is
 * nobody knows then: the lane ends, and its file is named.
 */
let declarations;
const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => {
  asyncHooks.createHook = createHook;
  return (declarations = createHook(callbacks));
};
const { describe } = await import('node:test');
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error) => {
    console.error(error);
    process.exit(1);
  });
}

keepShared();
for (let file; (file = await next()) !== undefined; ) {
  const from = { seconds: processorTime(), at: performance.now() };
  declarations?.enable();
  await describe(file, { timeout: LONGEST_MS }, async () => {
    await import(pathToFileURL(file));
    declarations.disable();
  });
  process.send({ done: file, processor: processorTime() - from.seconds, wall: (performance.now() - from.at) / 1000 });
}
await endShared();
process.disconnect();

function next() {
  const given = new Promise((resolve) => process.once('message', ({ file }) => resolve(file)));
  process.send({ ready: true });
  return given;
}
