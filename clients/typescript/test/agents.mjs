// Agents of AG-UI with both versions of its client, whose own verifier stands behind every run: the newest, and the one that
// CopilotKit and assistant-ui still bring.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
export const VERSIONS = { '1.0.0': '@ag-ui/client', '0.0.59': 'agui059' };

/** By version `AptixAgent`, and the client's own exports. Each has an installation: the entry takes the client beside it. */
export async function agentsIn(folder) {
  const agents = {};
  for (const [version, name] of Object.entries(VERSIONS)) {
    const modules = path.join(folder, version, 'node_modules');
    mkdirSync(path.join(modules, '@ag-ui'), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules', name), path.join(modules, '@ag-ui/client'));
    symlinkSync(path.join(ROOT, 'node_modules/rxjs'), path.join(modules, 'rxjs'));
    execFileSync('cp', ['-r', path.join(ROOT, 'dist'), path.join(folder, version, 'dist')]);
    execFileSync('cp', [path.join(ROOT, 'package.json'), path.join(folder, version)]);
    agents[version] = (await import(pathToFileURL(path.join(folder, version, 'dist/ag-ui.js')))).AptixAgent;
  }
  return agents;
}

/** Runs, and gives what the front end was told of its end. */
export async function run(agent, params = {}, how = 'runAgent') {
  const told = { events: [] };
  await agent[how](params, {
    onEvent: ({ event }) => void told.events.push(event),
    onRunFinishedEvent: ({ outcome, interrupts }) => void Object.assign(told, { outcome, interrupts, isFinished: true }),
    onRunErrorEvent: ({ event }) => void (told.error = event),
    onRunFailed: ({ error }) => void (told.failed = error),
  });
  return told;
}

export const texts = (agent) => agent.messages.filter(({ role, content }) => role === 'assistant' && content).map(({ content }) => content);
export const FRONT_END = [
  { name: 'read', description: 'Reads', parameters: { type: 'object', properties: { path: { type: 'string' } } } },
  { name: 'fail', description: 'Fails', parameters: { type: 'object' } },
];

/** Answers the calls that nobody has answered, as the front end's page would; gives their number. */
export function answerCalls(agent) {
  const answered = new Set(agent.messages.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId));
  const open = agent.messages.flatMap(({ toolCalls = [] }) => toolCalls).filter(({ id }) => !answered.has(id));
  for (const { id, function: { name, arguments: given } } of open) {
    const content = name === 'fail' ? '' : JSON.stringify({ contents: JSON.parse(given).path });
    agent.addMessage({ id: `t-${id}`, role: 'tool', toolCallId: id, content, ...(name === 'fail' && { error: 'This one fails.' }) });
  }
  return open.length;
}

/** Runs the front end's tools until the turn has ended; gives how often it paused. */
export async function toTheEnd(agent, params) {
  for (let pauses = 0; ; pauses += 1) {
    const told = await run(agent, params);
    assert.ok(told.isFinished, `${told.failed ?? told.error?.message}`);
    if (answerCalls(agent) === 0) return pauses;
  }
}
