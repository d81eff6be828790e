// Five turns as a model service scripts them, told apart by their instruction, and how a client goes through one.
// Owns what each must come to: its final text, its pauses, and that no tool is run twice.
import assert from 'node:assert/strict';
import { Rig, httpTool } from '../../../tests/e2e/harness.mjs';
import { answer, call, commentary, text } from '../../../tests/e2e/scripted_model.mjs';
import { Aptix } from '../dist/index.js';

/** Each turn: what the model says in answer to so many outputs of tools, its final text, and how often it pauses. */
export const TURNS = {
  plain: {
    replies: { 0: answer(text('Hé', 'llo, wörld ', '🌍!\r\n', '\ndata: x')) },
    final: 'Héllo, wörld 🌍!\r\n\ndata: x',
    pauses: 0,
  },
  'taken back': {
    replies: { 0: answer(text('I think ', 'it is… '), call('look', { q: 'a' })), 1: answer(text('It is ', '42.')) },
    final: 'It is 42.',
    pauses: 0,
  },
  'one tool': {
    replies: { 0: answer(text('I ', 'look.'), call('read', { path: 'ä' })), 1: answer(text('Found ', 'ä.')) },
    final: 'Found ä.',
    pauses: 1,
  },
  'tools in two rounds': {
    replies: {
      0: answer(call('read', { path: 'a' }), call('look', { q: 'b' }), call('fail', {})),
      3: answer(text('Once ', 'more.'), call('read', { path: 'c' })),
      4: answer(text('All ', 'read.')),
    },
    final: 'All read.',
    pauses: 2,
  },
  commentary: {
    replies: { 0: answer(commentary('Let me ', 'see.')) },
    final: 'Let me see.',
    pauses: 0,
  },
};

/** A model that follows the instruction's name and the outputs that the conversation has since. */
export const asScripted = {
  async play(exchange) {
    const { conversation } = exchange.record;
    const begin = conversation.findLastIndex(({ role }) => role === 'user');
    const [, name] = /<([^>]*)>/.exec(JSON.stringify(conversation[begin]));
    const outputs = conversation.slice(begin).filter(({ type }) => type === 'function_call_output').length;
    await TURNS[name].replies[outputs].play(exchange);
  },
};

/** A rig whose model follows the scripts, with the server tool `look`. Deltas are not joined, so that there are several. */
export async function scriptedRig(vars = {}) {
  const rig = new Rig({
    vars: { DELTA_INTERVAL_MS: '0', ...vars },
    catalog: (catalog, { toolUrl }) => {
      catalog.ServerTools.push(httpTool('look', toolUrl));
      catalog.Modes[0].Tools.push('look');
    },
  });
  await rig.start();
  rig.model.otherwise(asScripted);
  rig.tools.on('/look', '{"found":1}');
  return rig;
}

/** A life of one turn: its tools count their runs, whichever client has them run. */
export class Life {
  runs = new Map();
  tools = [
    {
      name: 'read',
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
      run: async ({ path }, { toolCallId }) => {
        this.#counted(toolCallId);
        return { contents: path };
      },
    },
    {
      name: 'fail',
      run: (_, { toolCallId }) => {
        this.#counted(toolCallId);
        throw new Error('This one fails.');
      },
    },
  ];

  constructor(name, sessionId) {
    Object.assign(this, { name, sessionId, turnId: 'turn-1', ...TURNS[name] });
    this.request = { Instruction: `<${name}>` };
  }

  begin(aptix, options = {}) {
    return aptix.session(this.sessionId).turn(this.request, { turnId: this.turnId, tools: this.tools, ...options });
  }

  attach(aptix, options = {}) {
    return aptix.session(this.sessionId).attach(this.turnId, { tools: this.tools, ...options });
  }

  /** Fails unless this is how the turn must end. */
  async check(turn) {
    const { PrimaryOutputText } = await turn.final();
    assert.equal(PrimaryOutputText, this.final);
    assert.deepEqual([...new Set(this.runs.values())].filter((runs) => runs !== 1), [], 'a tool ran more than once');
  }

  #counted(toolCallId) {
    this.runs.set(toolCallId, (this.runs.get(toolCallId) ?? 0) + 1);
  }
}

let serial = 0;
export const newLife = (name) => new Life(name, `life-${++serial}`);

/** A client that loses no time. */
export const client = (baseUrl, options = {}) => new Aptix({ baseUrl: `${baseUrl}`, retryDelayMs: 1, ...options });

/** What a view shows that follows a turn's events, the text of the present submission. */
export class View {
  segments = new Map();
  pauses = 0;
  take(event) {
    if (event.type === 'text') this.segments.set(event.segment, (this.segments.get(event.segment) ?? '') + event.delta);
    else if (event.type === 'discard') this.segments.delete(event.segment);
    else if (event.type === 'tool_calls') this.pauses += 1;
    else if (event.type === 'tool_results') this.segments.clear();
  }
  get text() {
    return [...this.segments.values()].join('');
  }
}

/** Runs `job` for each item, so many at once; the first failure says which item it was. */
export async function forEach(items, atOnce, job) {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (queue.length > 0) {
        const item = queue.shift();
        await job(item).catch((fault) => {
          queue.length = 0;
          throw new Error(`${JSON.stringify(item)}: ${fault.message}`, { cause: fault });
        });
      }
    }),
  );
}
