// How this client goes through the turns that the tests of all clients share (tests/clients/scenarios.json). Owns that each
// comes to its end, and that no tool is run twice.
import assert from 'node:assert/strict';
import { SCENARIOS, asScripted, scriptedRig } from '../../../tests/clients/turns.mjs';
import { Aptix } from '../dist/index.js';

export { asScripted, scriptedRig };

/** Each turn: its final text, and how often it pauses. */
export const TURNS = Object.fromEntries(Object.entries(SCENARIOS.Turns).map(([name, { Final, Pauses }]) => [name, { final: Final, pauses: Pauses }]));

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
