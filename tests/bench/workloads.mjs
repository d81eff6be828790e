// The loads for the contenders, and the code that runs a batch of one.
// Every batch checks every response; a wrong one is counted and printed, and the run fails.
import { setTimeout as pause } from 'node:timers/promises';
import { post, wrong } from './turn.mjs';

/** Waits for a turn's work after its response, which counts as the turn's cost. */
const AFTERMATH_MS = 30;

/**
 * The loads whose cost is compared. `atOnce` turns run at a time, `turns` make a batch, of which a full run makes
 * `rounds` for each contender; `answer` sets the model's response, whose events reach the network one by one unless
 * `framing` says otherwise; `fresh` loads begin a session with each turn, the others follow up. QUICK=1 leaves
 * `thorough` ones out. `beside` ones are measured on the other version of workerd, too.
 */
export const LOADS = [
  {
    key: 'json', says: 'JSON, 20 deltas, 16 at once', beside: true,
    atOnce: 16, turns: 240, rounds: 11, answer: { deltas: 20 },
  },
  {
    key: 'burst', says: 'stream, 200 deltas unpaced, 16 at once', beside: true,
    atOnce: 16, turns: 96, rounds: 9, answer: { deltas: 200 }, Streaming: true,
  },
  {
    key: 'burst-old', says: '… many events written at once', thorough: true, beside: true,
    atOnce: 16, turns: 96, rounds: 4, answer: { deltas: 200, framing: 'burst' }, Streaming: true,
  },
  {
    key: 'burst-joined', says: '… eight events in an HTTP chunk', thorough: true,
    atOnce: 16, turns: 96, rounds: 4, answer: { deltas: 200, framing: 'joined' }, Streaming: true,
  },
  {
    key: 'paced-8', says: 'stream, 200 deltas 5 ms apart, 8 at once',
    atOnce: 8, turns: 16, rounds: 4, answer: { deltas: 200, gapMs: 5 }, Streaming: true,
  },
  {
    key: 'paced', says: 'stream, 200 deltas 5 ms apart, 32 at once', beside: true,
    atOnce: 32, turns: 64, rounds: 5, answer: { deltas: 200, gapMs: 5 }, Streaming: true,
  },
  {
    key: 'slow', says: 'stream, 200 deltas 40 ms apart, 32 at once', thorough: true,
    atOnce: 32, turns: 32, rounds: 2, answer: { deltas: 200, gapMs: 40 }, Streaming: true,
  },
  {
    key: 'unwatched', says: 'JSON, 200 deltas 5 ms apart, 32 at once',
    atOnce: 32, turns: 64, rounds: 3, answer: { deltas: 200, gapMs: 5 },
  },
  {
    key: 'fresh', says: 'new session, JSON, 20 deltas, 16 at once',
    atOnce: 16, turns: 240, rounds: 7, answer: { deltas: 20 }, fresh: true,
  },
];

/** The streams whose delays are compared: `atOnce` of `deltas`, `gapMs` apart; the rest as in LOADS. */
export const DELAYS = [
  { key: 'begun-32', says: '32 new sessions begun at once, 5 ms', atOnce: 32, deltas: 20, gapMs: 5, rounds: 8, fresh: true },
  // A single stream gives few samples, so its run is short and repeated often.
  { key: 'latency-1', says: 'one stream, 5 ms', atOnce: 1, deltas: 40, gapMs: 5, rounds: 12 },
  { key: 'latency-32', says: '32 streams, 5 ms', atOnce: 32, deltas: 200, gapMs: 5, rounds: 3 },
  { key: 'latency-slow', says: '32 streams, 40 ms', atOnce: 32, deltas: 50, gapMs: 40, rounds: 2, thorough: true },
];

let serial = 0;

/** Runs batches and collects faults in `wrongs`, one line each. */
export class Load {
  wrongs = [];
  #model;

  constructor(model) {
    this.#model = model;
  }

  /**
   * One batch. Resolves to `{turns, wallMs, cpuMs, modelBusy, clientBusy, answers}`: `cpuMs` is the contender's CPU
   * time per turn; `modelBusy` and `clientBusy` are shares of the wall time. A figure that cannot be measured is
   * `null`.
   */
  async batch(contender, { key, atOnce, turns, fresh = false, Streaming = false, answer = {} }) {
    const { stamped } = answer;
    const answers = [];
    let begun = 0;
    const client = async (number) => {
      while (begun < turns) {
        begun += 1;
        serial += 1;
        const turn = {
          SessionId: fresh ? `${key}-${serial}` : `${key}-${number}`,
          TurnId: `turn-${serial}`,
          Instruction: 'Say what is known, and nothing else.',
          ...(Streaming && { Streaming }),
        };
        answers.push(await this.turn(contender, turn, { stamped }));
      }
    };
    const before = this.#costs(contender);
    const from = performance.now();
    await Promise.all(Array.from({ length: atOnce }, (_, number) => client(number)));
    const wallMs = performance.now() - from;
    await pause(AFTERMATH_MS);
    const after = this.#costs(contender);
    const spent = (whose) => (before[whose] === null ? null : after[whose] - before[whose]);
    return {
      turns,
      wallMs,
      cpuMs: spent('contender') === null ? null : spent('contender') / turns,
      modelBusy: spent('model') === null ? null : spent('model') / wallMs,
      clientBusy: spent('client') / wallMs,
      answers,
    };
  }

  /** Runs one turn and checks its response. */
  async turn(contender, turn, options = {}) {
    const lost = (fault) => ({ status: 0, text: String(fault), headers: {} });
    const answer = await post(contender.url, turn, options).catch(lost);
    const fault = wrong(contender, turn, answer, this.#model);
    if (fault !== null) {
      const line = `WRONG ANSWER of ${contender.name}, ${turn.SessionId} ${turn.TurnId}: ${fault}`;
      this.wrongs.push(line);
      if (this.wrongs.length <= 10) console.error(line);
    }
    return answer;
  }

  #costs(contender) {
    const { user, system } = process.cpuUsage();
    return { contender: contender.cpuMs, model: this.#model.cpuMs, client: (user + system) / 1000 };
  }
}
