// Names the functions of a WebAssembly module in the order in which they compress best, and writes the module to
// another file: `wasm-opt --reorder-functions-by-name` then puts them there. Nothing else changes.
//
// gzip finds repetitions among the last 32 KB only, and a module's functions repeat each other over hundreds of them.
// Each next function is therefore the one of which the largest part stands in the functions just before it. That makes
// the upload a fourteenth smaller; the sum over all bytes shows it (`make build` and tools/setup/bundle_size), and has chosen
// the figures below.
//
// usage: order_functions.mjs IN.wasm OUT.wasm
import { readFileSync, writeFileSync } from 'node:fs';

const [, , from, to] = process.argv;
/** What two functions are compared by: each run of so many bytes. */
const RUN_BYTES = 6;
/** Runs that more functions hold than this say nothing about likeness, and cost the most time. */
const MOST_HOLDERS = 400;
/** How far back gzip finds a repetition. */
const WINDOW_BYTES = 32_000;
/** Ids of the sections that matter here, and the kinds of imports. */
const [CUSTOM, IMPORT, CODE] = [0, 2, 10];
const [FUNCTION, TABLE, MEMORY, GLOBAL, TAG] = [0, 1, 2, 3, 4];

/** Reads a module's bytes from a place on. */
class Reader {
  constructor(bytes, at = 0) {
    Object.assign(this, { bytes, at });
  }
  byte() {
    return this.bytes[this.at++];
  }
  /** An unsigned number in LEB128. */
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  }
  /** So many bytes as its length says, which stands before them. */
  text() {
    const length = this.number();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

function leb128(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Buffer.from([...bytes, value]);
}

const prefixed = (bytes) => Buffer.concat([leb128(bytes.length), bytes]);

/** The module's sections: `{id, contents, whole}`. */
function sectionsOf(module) {
  const reader = new Reader(module, 8);
  const sections = [];
  while (reader.at < module.length) {
    const start = reader.at;
    const id = reader.byte();
    const contents = reader.text();
    sections.push({ id, contents, whole: module.subarray(start, reader.at) });
  }
  return sections;
}

/** How many functions the module imports: their indices come before those of its own. */
function importedFunctions(contents) {
  const reader = new Reader(contents);
  const limits = () => {
    const flags = reader.number();
    reader.number();
    if (flags & 1) reader.number();
  };
  let functions = 0;
  for (let left = reader.number(); left > 0; left -= 1) {
    reader.text();
    reader.text();
    const kind = reader.byte();
    if (kind === FUNCTION) functions += 1;
    if (kind === FUNCTION) reader.number();
    else if (kind === TABLE) reader.byte(), limits();
    else if (kind === MEMORY) limits();
    else if (kind === GLOBAL) reader.at += 2;
    else if (kind === TAG) reader.byte(), reader.number();
    else throw new Error(`an import of the unknown kind ${kind}`);
  }
  return functions;
}

/** The bodies of the module's own functions. */
function bodiesOf(contents) {
  const reader = new Reader(contents);
  return Array.from({ length: reader.number() }, () => reader.text());
}

/** The indices of `bodies` in the order in which they compress best. */
function bestOrder(bodies) {
  const holders = new Map();
  bodies.forEach((body, index) => {
    for (let at = 0; at + RUN_BYTES <= body.length; at += 1) {
      const run = body.latin1Slice(at, at + RUN_BYTES);
      const those = holders.get(run);
      if (those === undefined) holders.set(run, [index]);
      else if (those.at(-1) !== index) those.push(index);
    }
  });
  const telling = [...holders.values()].filter(({ length }) => length > 1 && length <= MOST_HOLDERS);
  const runsOf = bodies.map(() => []);
  telling.forEach((those, run) => those.forEach((index) => runsOf[index].push(run)));

  // A run that few others hold tells the most: a common one stands in every window anyway.
  const weight = telling.map((those) => 1 / Math.sqrt(those.length - 1));
  // With its length as it is, the shortest functions, which are alike anyway, would come first.
  const size = bodies.map(({ length }) => length ** 0.8);
  const inWindow = new Int32Array(telling.length); // how many functions of the window hold a run
  const shared = new Float64Array(bodies.length); // the weight of a function's runs that the window holds
  const placed = new Uint8Array(bodies.length);
  const order = [];
  let windowStart = 0;
  let windowBytes = 0;
  const enter = (index) => {
    for (const run of runsOf[index]) if (inWindow[run]++ === 0) for (const holder of telling[run]) shared[holder] += weight[run];
    windowBytes += bodies[index].length;
  };
  const leave = (index) => {
    for (const run of runsOf[index]) if (--inWindow[run] === 0) for (const holder of telling[run]) shared[holder] -= weight[run];
    windowBytes -= bodies[index].length;
  };
  const likest = () => {
    let best = -1;
    let most = -1;
    for (let index = 0; index < bodies.length; index += 1) {
      const part = shared[index] / size[index];
      if (!placed[index] && part > most) [best, most] = [index, part];
    }
    return best;
  };
  const longest = bodies.reduce((most, { length }, index) => (length > bodies[most].length ? index : most), 0);
  while (order.length < bodies.length) {
    const next = order.length === 0 ? longest : likest();
    placed[next] = 1;
    order.push(next);
    enter(next);
    while (windowBytes > WINDOW_BYTES && windowStart < order.length - 1) leave(order[windowStart++]);
  }
  return order;
}

const module = readFileSync(from);
const sections = sectionsOf(module);
const contentsOf = (wanted) => sections.find(({ id }) => id === wanted)?.contents ?? Buffer.from([0]);
const imported = importedFunctions(contentsOf(IMPORT));
const names = Array.from({ length: imported }, (_, index) => [index, `a${String(index).padStart(6, '0')}`]);
bestOrder(bodiesOf(contentsOf(CODE))).forEach((index, rank) => names.push([imported + index, `b${String(rank).padStart(6, '0')}`]));
names.sort(([one], [other]) => one - other); // the format wants them by index

const entries = names.map(([index, name]) => Buffer.concat([leb128(index), prefixed(Buffer.from(name))]));
const functionNames = Buffer.concat([Buffer.from([1]), prefixed(Buffer.concat([leb128(names.length), ...entries]))]);
const nameSection = Buffer.concat([Buffer.from([CUSTOM]), prefixed(Buffer.concat([prefixed(Buffer.from('name')), functionNames]))]);
const isOldNames = ({ id, contents }) => id === CUSTOM && new Reader(contents).text().toString() === 'name';
const kept = sections.filter((section) => !isOldNames(section)).map(({ whole }) => whole);
writeFileSync(to, Buffer.concat([module.subarray(0, 8), ...kept, nameSection]));
