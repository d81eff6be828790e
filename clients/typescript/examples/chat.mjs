// A chat in the terminal, with tools on the files below the current folder:
//
//     make client dev                               # in one terminal
//     node clients/typescript/examples/chat.mjs     # in another
//
// APTIX_URL and APTIX_KEY name another service. A turn that Ctrl-C cut off goes on in a chat with the same SESSION.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Aptix, AptixError, formatJson } from 'aptix-edge';

const { APTIX_URL = 'http://127.0.0.1:8787', APTIX_KEY, SESSION = `chat-${Date.now()}` } = process.env;
const session = new Aptix({ baseUrl: APTIX_URL, credential: APTIX_KEY }).session(SESSION);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ask = async (question) => (process.stdout.write(question), (await lines.next()).value);

const inside = (name) => {
  const file = path.resolve(name ?? '.');
  if (file !== process.cwd() && !file.startsWith(process.cwd() + path.sep)) throw new Error(`${name} is outside this folder.`);
  return file;
};
const texts = (names) => Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
const takes = (...names) => ({ type: 'object', properties: texts(names), required: names });
const tools = [
  { name: 'read_file', description: 'Reads a text file.', parameters: takes('path'), run: ({ path }) => readFile(inside(path), 'utf8') },
  { name: 'list_files', description: 'Lists a folder.', parameters: takes('path'), run: ({ path }) => readdir(inside(path)) },
  { name: 'write_file', description: 'Replaces a text file.', parameters: takes('path', 'text'), run: async ({ path, text }) => writeFile(await agreed(path), text) },
];
const confirmed = async (question) => /^y/i.test(await ask(`${question} (y/n) `));
const agreed = async (name) => {
  if (!(await confirmed(`Write ${name}?`))) throw new Error('The user does not want that.');
  return inside(name);
};
const onApproval = ({ Name, ArgumentsJson, Message = '' }) => confirmed(`\n${Message} Run ${Name} ${formatJson(ArgumentsJson)}?`);

async function show(turn) {
  for await (const event of turn) {
    if (event.type === 'text') process.stdout.write(event.delta);
    if (event.type === 'discard') process.stdout.write('\n(that was not it)\n');
    // An approval is put as a question alone, by `onApproval`.
    for (const { Name, ArgumentsJson } of event.calls ?? []) if (Name !== 'agent_approve_tool') console.log(`\n[${Name} ${formatJson(ArgumentsJson)}]`);
  }
  console.log();
}

// Asked once: a chat that tries again where nobody listens seems to hang.
const asked = new Aptix({ baseUrl: APTIX_URL, maxReconnects: 0 }).health();
if (await asked.then(() => false, ({ cause }) => cause?.cause?.code === 'ECONNREFUSED')) {
  console.error(`Nobody listens at ${APTIX_URL}. Start the service with: make client dev`);
  process.exit(1);
}
const live = (await session.get().catch(() => ({}))).LiveTurn;
if (live) await show(session.attach(live.TurnId, { tools, onApproval }));
for (let line; (line = await ask('> ')) !== undefined; ) {
  if (line.trim()) await show(session.turn({ Instruction: line }, { tools, onApproval })).catch((error) => {
    if (!(error instanceof AptixError)) throw error;
    console.log(`${error.code}: ${error.message}`);
  });
}
