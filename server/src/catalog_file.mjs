// The operator's catalog: checked by the Worker's own code before it is taken, so that a spoiled file changes nothing.
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Fault } from './fault.mjs';
import { endedBy, onSignal } from './signals.mjs';
import { textOf } from './text.mjs';
import { Workerd } from './workerd.mjs';

/** A turn that no catalog can run: its context has a name that none permits, so that nothing is asked of anybody. */
const PROBE = { SessionId: 'check', TurnId: '1', Instruction: 'Check.', ConversationContextId: 'no-such-context' };

/** What is wrong with a catalog, a line for each fault; empty for a right one. Takes half a second. */
export const faultsOf = (catalog) => served({ catalog }, async (ask) => {
  const { Errors: [{ ErrorCode, Message, Details }] } = await ask('/execute', PROBE);
  if (ErrorCode === 'context_not_found') return [];
  if (ErrorCode !== 'catalog_invalid') throw new Fault(`the catalog could not be checked: ${ErrorCode}: ${Message}`);
  return Details.Faults.map(({ Path, Message: what }) => `${Path}: ${what}`);
});

/**
 * Serves a catalog from an empty folder to this process alone while `use(ask, origin, log)` runs, and resolves to what that does.
 * `ask(route, body, method)` resolves to the response's JSON, `log()` is the lines that the Worker has logged. With `outbound`
 * (workerd_config.mjs) it reaches nothing else.
 */
export async function served({ catalog, values = {}, network, outbound }, use) {
  const folder = mkdtempSync(path.join(tmpdir(), 'aptix-edge-check-'));
  const [objects, file] = [path.join(folder, 'objects'), path.join(folder, 'log')];
  const written = openSync(file, 'a');
  let worker;
  const signal = ended();
  try {
    mkdirSync(objects);
    take(catalog, folder);
    const stdio = ['ignore', written, written];
    worker = await Workerd.start({ address: '127.0.0.1:0', objects, catalog: folder, values: { ...values, AUTH: 'none' }, network, outbound, front: {}, stdio });
    const origin = `http://127.0.0.1:${worker.port}`;
    const ask = async (route, body, method = body ? 'POST' : 'GET') => {
      const headers = { connection: 'close', ...(body && { 'content-type': 'application/json' }) };
      const sent = { headers, method, ...(body && { body: JSON.stringify(body) }) };
      return (await fetch(`${origin}${route}`, sent)).json();
    };
    const log = () => readFileSync(file, 'utf8').split('\n').flatMap((line) => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line)] : []));
    return await Promise.race([use(ask, origin, log), signal.comes]);
  } finally {
    closeSync(written);
    await worker?.kill();
    rmSync(folder, { recursive: true, force: true });
    signal.forget();
    // Nor is one lost that came meanwhile.
    await Promise.race([signal.comes, undefined]);
  }
}

/**
 * `comes` rejects at the first signal that ends this process: workerd is in a group of its own, and would go on. So it would after a
 * second one, as npx hands on what Ctrl-C has said already; it changes nothing.
 */
function ended() {
  const { promise, reject } = Promise.withResolvers();
  promise.catch(() => {});
  const forget = onSignal((name, number) => reject(new Fault(`ended by ${name}`, endedBy(number))));
  return { comes: promise, forget };
}

/** Takes a catalog that is right into `folder`, from which workerd reads it. */
export function take(catalog, folder) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(path.join(folder, '.new'), catalog, { mode: 0o600, flush: true });
  renameSync(path.join(folder, '.new'), path.join(folder, 'catalog'));
}

export const NOT_UTF8 = 'is not UTF-8; store it as UTF-8';

/** The bytes of a catalog's file. */
export function bytesOf(file) {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Fault(`the catalog ${file} cannot be read: ${error.code}`);
  }
}

/** The text of a catalog's file, without the mark that some editors write before it. */
export function read(file) {
  const text = textOf(bytesOf(file));
  if (text === undefined) throw new Fault(`the catalog ${file} ${NOT_UTF8}`);
  return text;
}
