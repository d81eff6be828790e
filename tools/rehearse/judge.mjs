// The judge: a program of the operator's that reads a line of JSON for each turn and writes one. It runs from the first turn to
// the last.
import { spawn } from 'node:child_process';
import { callsOf, textOf } from './comparison.mjs';

export class Judge {
  #process;
  #lines;

  /** `command` is what a shell runs. */
  constructor(command) {
    this.#process = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#process.stdin.on('error', () => {
      // It has ended; `judged` says so.
    });
    // Heard from the start: of a process that has ended, what nobody listens for is dropped.
    this.#process.stdout.on('readable', () => {});
    this.#lines = linesOf(this.#process.stdout);
  }

  /** Resolves to `{ Score, Reason? }` of a turn, or throws an `Error` that says what was wrong with the judge's line. */
  async judged(instruction, recorded, rehearsed) {
    const side = (turn) => ({ Text: turn ? textOf(turn) : '', Calls: turn ? callsOf(turn) : [] });
    const asked = JSON.stringify({ Instruction: instruction, Recorded: side(recorded), Rehearsed: side(rehearsed) });
    this.#process.stdin.write(`${asked.replace(SEPARATORS, (each) => `\\u${each.charCodeAt(0).toString(16)}`)}\n`);
    const { value: line } = await this.#lines.next();
    if (line === undefined) throw new Error('the judge has ended before the last turn');
    const { Score, Reason } = parsed(line);
    if (typeof Score !== 'number' || !(Score >= 0 && Score <= 1)) throw new Error(`the judge says ${line.slice(0, 200)}, not {"Score": 0 to 1, "Reason"?}`);
    return { Score, ...(typeof Reason === 'string' && { Reason }) };
  }

  /** Nothing more comes. */
  end() {
    this.#process.stdin.end();
    this.#process.stdout.destroy();
  }
}

/** Where Node's reader of lines ends one, though JSON goes on. */
const SEPARATORS = /[\u2028\u2029]/g;

async function* linesOf(stream) {
  let rest = '';
  for await (const piece of stream.setEncoding('utf8')) {
    const lines = `${rest}${piece}`.split('\n');
    rest = lines.pop();
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function parsed(line) {
  try {
    return JSON.parse(line) ?? {};
  } catch {
    return {};
  }
}
