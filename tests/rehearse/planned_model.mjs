// A model that does what the user's words plan: `PLAN {"Steps": [[[tool, values]]], "Say"}`. It finds a tool by its description
// and names arguments as the tool's schema does, so a change of a catalog changes its calls as it changes a model's. A prompt
// that says VERIFY has it call `check` before a plan with `"IsOrder": true`. Its last words repeat every result and every steer.
import { answer, call, text } from '../e2e/scripted_model.mjs';

/** The words of a turn. */
export const plan = (Steps, more = {}) => `Please work.\nPLAN ${JSON.stringify({ Steps, Say: 'Done.', ...more })}`;

/** The reply to any request, for `ScriptedModel.otherwise`. */
export const PLANNED = {
  async play(exchange) {
    await answer(...outputFor(exchange.body, exchange.record.conversation)).play(exchange);
  },
};

function outputFor(body, conversation) {
  const begin = conversation.findLastIndex((item) => wordsOf(item).includes('\nPLAN '));
  const { Steps, Say, IsOrder } = JSON.parse(/\nPLAN (.*)/.exec(wordsOf(conversation[begin]))[1]);
  const prompt = JSON.stringify([body.instructions, conversation.filter(({ role }) => role === 'system')]);
  const steps = IsOrder && prompt.includes('VERIFY') ? [[['check', ['all']]], ...Steps] : Steps;
  const since = conversation.slice(begin + 1);
  let made = since.filter(({ type }) => type === 'function_call').length;
  for (const step of steps) {
    if (made <= 0) return step.map(([word, values]) => callOf(word, values, body.tools));
    made -= step.length;
  }
  const results = since.filter(({ type }) => type === 'function_call_output').map(({ output }) => (typeof output === 'string' ? output : JSON.stringify(output)));
  const steers = since.filter(({ role }) => role === 'user').map(wordsOf);
  return [text([Say, ...results, ...steers].join(' '))];
}

const wordsOf = ({ role, content }) => (role === 'user' ? content.map((part) => part.text ?? '').join('\n') : '');

function callOf(word, values, tools) {
  const tool = tools.find(({ name, description = '' }) => name === word || description.startsWith(`The tool ${word}.`));
  if (!Array.isArray(values)) return call(tool?.name ?? word, values);
  const names = Object.keys(tool?.parameters?.properties ?? {});
  return call(tool?.name ?? word, Object.fromEntries(values.map((value, at) => [names[at] ?? `argument_${at}`, value])));
}
