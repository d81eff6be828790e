// What the tests of MCP servers share: contexts that offer a server's tools, and a turn in which the model calls some.
import assert from 'node:assert/strict';
import { BOOT_PROMPT, resultOf, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

/** Adds a server to the catalog, and a mode and a conversation context under its key that offer `tools` of it. */
export function addServer(catalog, key, server, tools = [`${key}/*`]) {
  (catalog.McpServers ??= {})[key] = server;
  catalog.Modes.push({ Key: key, DisplayName: `Mode of ${key}`, WhenToUse: 'Never.', Tools: tools });
  catalog.ConversationContexts[key] = { AgentContextId: 'default', BootPrompt: BOOT_PROMPT, Mode: key };
}

/** A user turn in the context of that server. */
export const turnWith = (server, members = {}) => userTurn({ ConversationContextId: server, ...members });

/**
 * Runs a turn in which the model makes these calls, as `[name, arguments]`, and then says that it is done. Gives the turn,
 * its response and result, the names that the model was offered, and what it was given for each call.
 */
export async function calling(rig, server, calls, { key, ...members } = {}) {
  const turn = turnWith(server, members);
  const asked = calls.map(([name, args = {}]) => call(`${server}__${name}`, args));
  rig.model.script(...(asked.length === 0 ? [] : [answer(...asked)]), answer(text('Done.')));
  const got = await rig.post(turn, { key });
  const result = resultOf(got);
  assert.equal(result.PrimaryOutputText, 'Done.', got.text);
  return { turn, got, result, offered: offeredTo(rig), outputs: outputsTo(rig) };
}

/** The names of the tools of MCP servers in the latest model call. */
export const offeredTo = (rig) => rig.model.bodies.at(-1).tools.map(({ name }) => name).filter((name) => name.includes('__'));

/** What the latest model call was given for calls, parsed where it is JSON. */
export function outputsTo(rig) {
  const outputs = rig.model.bodies.at(-1).input.filter(({ type }) => type === 'function_call_output');
  return outputs.map(({ output }) => {
    try {
      return JSON.parse(output);
    } catch {
      return output;
    }
  });
}

/** The warnings of a response, of the envelope and for the user, as one text. */
export const warningsOf = ({ json: { Warnings, Result } }) => [...Warnings.map(({ Message }) => Message), ...(Result.UserWarnings ?? [])].join('\n');

/** The text of an error that the model was given. */
export function errorIn(output) {
  assert.deepEqual(Object.keys(output), ['error'], JSON.stringify(output));
  return output.error;
}
