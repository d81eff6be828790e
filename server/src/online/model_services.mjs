// The model services of a catalog: which settings each needs. Every agent context is tried with each of its models, in both
// continuations: a session is held with it by the Worker, with all its remedies, and each turn shows one thing.
import { noFindings } from './report.mjs';

export const COLUMNS = ['agent context', 'model', 'Continuation', 'streams', 'boot prompt', 'remembers', 'same again', 'calls tools', 'Background'];

const [FIRST, SECOND, NOTED] = ['pelican', 'quartz', 'lantern'];
const BOOT_PROMPT = `You take part in a check of a service. The first code name is ${FIRST}, the second code name is ${SECOND}.`;
/** How often a tool may be called again after its output before that counts as a loop. */
const MOST_CALLS = 3;
/** The longest wait for a background response to be cancelled, in ms. */
const CANCEL_MS = 10_000;
/** Members of an agent context that say nothing of its service, or would end the check. */
const LEFT_OUT = ['Retrieval', 'RetentionDays', 'Budget', 'MaxIterations', 'FileHosts', 'Fallbacks', 'Background'];
const DEFAULTS = { BaseUrl: 'https://api.openai.com/v1', Model: 'gpt-5.1' };
const YES = 'yes';
const TOOL = JSON.stringify([{
  type: 'function',
  name: 'note',
  description: 'Writes down a word.',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
}]);

/** Asks every service of `document`; `online` is what all kinds of services share (check_online.mjs). */
export async function askModelServices(online) {
  const findings = noFindings();
  for (const service of servicesOf(online)) {
    const advice = await settled(online, service, findings);
    findings.advice.push(...advice.map((line) => `${service.id}, ${service.model}: ${line}`));
  }
  return findings;
}

/** Every agent context with every model that its conversation contexts name. */
function servicesOf({ document, values }) {
  const services = [];
  const contexts = Object.entries(document.ConversationContexts ?? {}).sort(byName).map(([, context]) => context);
  for (const [id, agent] of Object.entries(document.AgentContexts ?? {}).sort(byName)) {
    const uses = contexts.filter(({ AgentContextId }) => AgentContextId === id);
    for (const { Model, ModelParameters } of uses.length > 0 ? uses : [{}]) {
      const model = Model ?? agent.Model ?? (values.OPENAI_MODEL || DEFAULTS.Model);
      if (!services.some((known) => known.id === id && known.model === model)) services.push({ id, agent, model, ModelParameters });
    }
  }
  return services;
}

const byName = ([one], [other]) => (one < other ? -1 : 1);

/** Adds the rows of both continuations, and resolves to what the catalog has to set otherwise. */
async function settled(online, service, findings) {
  const row = (continuation, found, background = '–') => findings.rows.push([
    service.id, service.model, continuation,
    ...(found ? [found.streams ? YES : 'no', ...[found.bootPrompt, found.remembers, found.repeats, found.tools].map(cell)] : ['–', '–', '–', '–', '–']),
    background,
  ]);
  const missing = online.missingIn(service.agent);
  if (missing) {
    row('–');
    return [`does not respond: ${missing}`];
  }
  const advice = [];
  let withKey = service.agent.PromptCacheKey !== 'None';
  let stored = await tried(online, service, 'stored', withKey);
  if (withKey && stored.why) {
    // Some services refuse the member, and the Worker sends it as long as the catalog lets it.
    const without = await tried(online, service, 'stored', false);
    if (!without.why) {
      advice.push('set "PromptCacheKey": "None"');
      [stored, withKey] = [without, false];
    }
  }
  const replay = await tried(online, service, 'replay', withKey);
  if (stored.why && replay.why) {
    row('–');
    return [`does not respond: ${online.shown(stored.why)}`];
  }
  const background = stored.why ? '–' : await inBackground(online, service, withKey);
  if (service.agent.Background === 'Always' && background !== YES) {
    advice.push('makes no background responses that can be read again; set "Background": "Never"');
  }
  for (const [name, found] of [['stored', stored], ['replay', replay]]) {
    row(name, found.why ? undefined : found, name === 'stored' ? background : '–');
    findings.notes.push(...notesOf(found).map((note) => `${service.id}, ${service.model}, ${name}: ${online.shown(note)}`));
  }
  const isReplay = service.agent.Continuation === 'replay';
  const [set, other] = isReplay ? ['replay', 'stored'] : ['stored', 'replay'];
  const [ours, theirs] = (isReplay ? [replay, stored] : [stored, replay]).map(faultsOf);
  const isWorse = theirs.said.length < ours.said.length || (theirs.said.length === ours.said.length && theirs.refused < ours.refused);
  if (isWorse) advice.push(`set "Continuation": "${other}"`);
  const [name, left] = isWorse ? [other, theirs.said] : [set, ours.said];
  return [...advice, ...left.map((fault) => `in "${name}" ${fault}`)];
}

/** A catalog for a session with the service; the name of its agent context is the record's. */
function catalogFor({ gateway, values }, { id, agent, model, ModelParameters }, name, members) {
  const written = Object.fromEntries(Object.entries(agent).filter(([member]) => !LEFT_OUT.includes(member)));
  const url = agent.BaseUrl ?? (values.OPENAI_BASE_URL || DEFAULTS.BaseUrl);
  return {
    AgentContexts: { [id]: { ...written, DeleteStored: true, ...members, BaseUrl: gateway.before(name, url) } },
    ConversationContexts: { default: { AgentContextId: id, BootPrompt: BOOT_PROMPT, Model: model, ...(ModelParameters && { ModelParameters }) } },
    Modes: [{ Key: 'general', DisplayName: 'General' }],
  };
}

/** Holds a session in this continuation: what was found, or `{ why }` where the first turn has no answer. */
function tried(online, service, Continuation, withKey) {
  online.progress(`asking ${service.id} for ${service.model}, ${Continuation} …`);
  const name = online.newName();
  const members = { Continuation, ...(!withKey && { PromptCacheKey: 'None' }) };
  return online.serve(catalogFor(online, service, name, members), async (ask) => {
    const session = new Session(ask, () => online.gateway.latestFault(name));
    const number = 100 + (Date.now() % 800);
    const first = await session.says(`Respond with the first code name of your instructions and the number ${number}, and nothing else.`, FIRST);
    if (first.failed) return { why: first.failed };
    const next = 'Respond with the number that comes after the last number in this conversation, and nothing else.';
    const remembers = await session.says(next, String(number + 1));
    // A service that forgets would be blamed twice.
    const repeats = remembers === YES ? await session.says(next, String(number + 2)) : '–';
    const second = await session.says('Respond with the second code name of your instructions, and nothing else.', SECOND);
    const tools = await session.callsATool();
    await session.erase();
    const exchanges = online.gateway.of(name);
    const refusals = exchanges.filter(({ method, status }) => method === 'POST' && status >= 400 && status < 500);
    return {
      streams: exchanges.some(({ streamed }) => streamed),
      bootPrompt: first !== YES ? first : second === 'no' ? 'at first' : second,
      remembers,
      repeats,
      tools,
      refused: [...new Set(refusals.map(({ message }) => message))],
    };
  });
}

/** What the service makes of background responses: `yes`, or in a word what it does not do. */
function inBackground(online, service, withKey) {
  const name = online.newName();
  const members = { Continuation: 'stored', Background: 'Always', ...(!withKey && { PromptCacheKey: 'None' }) };
  return online.serve(catalogFor(online, service, name, members), async (ask) => {
    const session = new Session(ask, () => online.gateway.latestFault(name));
    const exchanges = online.gateway.of(name);
    online.gateway.cutAfter(name, 3);
    const said = await session.says('Respond with OK and nothing else.', 'ok');
    const begun = exchanges.find(({ method }) => method === 'POST');
    if (begun === undefined) return 'failed';
    if (begun.status >= 400 && begun.status < 500) return 'refused';
    const read = exchanges.filter(({ method }) => method === 'GET');
    if (!read.some(({ status }) => status < 300)) return 'not read again';
    if (said !== YES) return 'not read on';
    // The response is not read on, so that it is still there to be cancelled.
    online.gateway.cutAfter(name, 3);
    online.gateway.holdReads(name);
    const isCancel = ({ method, path }) => method === 'POST' && /\/cancel($|\?)/.test(path);
    await session.begins('Count from 1 to 500, each number on a line of its own.', () => exchanges.some((one) => read.indexOf(one) < 0 && one.method === 'GET'));
    for (const until = Date.now() + CANCEL_MS; Date.now() < until && exchanges.find(isCancel)?.status === undefined; ) await pause(50);
    online.gateway.letReadsGo();
    const cancelled = exchanges.find(isCancel)?.status;
    await session.erase();
    // One that has ended meanwhile cannot be cancelled.
    return cancelled < 300 || cancelled === 400 || cancelled === 409 ? YES : 'not cancelled';
  });
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A session of the check. Outcomes are `yes`, another word, or `{ failed: why }`. */
class Session {
  #ask;
  #fault;
  #turns = 0;

  constructor(ask, fault) {
    this.#ask = ask;
    this.#fault = fault;
  }

  /** Whether a turn's text holds a word. */
  async says(Instruction, word) {
    const answer = await this.#turn({ Instruction });
    if (answer.failed) return answer;
    return answer.text?.toLowerCase().includes(word) ? YES : 'no';
  }

  /** Whether a tool of the client's is called, and whether its output is taken. */
  async callsATool() {
    const Instruction = `Call the tool note with the word ${NOTED}. When it has written the word down, respond with OK and nothing else.`;
    let answer = await this.#turn({ Instruction, ToolsJson: TOOL });
    for (let call = 0; call <= MOST_CALLS; call += 1) {
      if (answer.failed) return answer;
      if (answer.calls === undefined) return call === 0 ? 'no' : YES;
      const ToolResults = answer.calls.map((ToolCallId) => ({ ToolCallId, ExecutionMs: 0, ResultJson: '"It is written down."' }));
      answer = await this.#send({ TurnId: `t${this.#turns}`, ToolResults });
    }
    return 'again and again';
  }

  /** Begins a turn, and cancels it as soon as `so()`. */
  async begins(Instruction, so) {
    const running = this.#turn({ Instruction });
    for (const until = Date.now() + CANCEL_MS; Date.now() < until && !so(); ) await pause(20);
    await this.#ask(`/sessions/check/turns/t${this.#turns}/cancel`, undefined, 'POST');
    await running;
  }

  /** Erases the session, and with it what the service has stored. */
  erase() {
    return this.#ask('/sessions/check', undefined, 'DELETE');
  }

  #turn(request) {
    this.#turns += 1;
    return this.#send({ TurnId: `t${this.#turns}`, ...request });
  }

  async #send(request) {
    const { Result, Errors } = await this.#ask('/execute', { SessionId: 'check', ...request });
    // The Worker's own message says little of the service.
    if (!Result) return { failed: this.#fault() ?? Errors[0].Message };
    return { text: Result.PrimaryOutputText, calls: Result.ToolCalls?.map(({ ToolCallId }) => ToolCallId) };
  }
}

const cell = (outcome) => (outcome.failed === undefined ? outcome : 'failed');

/** The services' own words on what failed, and on what the Worker had to say in another way. */
function notesOf({ why, refused = [], ...found }) {
  if (why) return [why];
  const failed = [found.bootPrompt, found.remembers, found.repeats, found.tools].flatMap((outcome) => outcome.failed ?? []);
  return [...new Set([...failed, ...refused.filter((message) => !failed.includes(message)).map((message) => `refused, and asked in another way: ${message}`)])];
}

/** What a session in one continuation would suffer from. The less, the better. */
function faultsOf({ why, bootPrompt, remembers, repeats, tools, refused }) {
  if (why) return { said: Array(8).fill('it does not respond'), refused: 0 };
  const of = (outcome, words) => (outcome === YES || outcome === '–' ? [] : [words[cell(outcome)] ?? words.no]);
  return {
    said: [
      ...of(bootPrompt, { 'at first': 'it loses the boot prompt after the first call', failed: 'a later turn fails', no: 'the boot prompt does not reach the model' }),
      ...of(remembers, { failed: 'the second turn fails', no: 'it forgets what was said' }),
      ...of(repeats, { failed: 'it refuses an instruction that equals the one before it', no: 'it loses an instruction that equals the one before it' }),
      ...of(tools, {
        'again and again': 'it calls a tool again and again, as if the tool had given no output',
        failed: 'it refuses tools, or what they give',
        no: 'it was asked to call a tool and did not; take another model where tools are needed',
      }),
    ],
    refused: refused.length,
  };
}
