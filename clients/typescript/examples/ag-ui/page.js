// A chat over AG-UI without a framework: text as it comes, a tool of the page, questions that need consent, and a reload in
// the middle of it all. CopilotKit and assistant-ui take the same agent.
import { Aptix } from 'aptix-edge';
import { AptixAgent } from 'aptix-edge/ag-ui';

const service = new URLSearchParams(location.search).get('service') ?? 'http://127.0.0.1:8787';
// What outlives a reload: which thread this is, and its messages.
const isNew = localStorage.getItem('chat') === null;
if (isNew) localStorage.setItem('chat', crypto.randomUUID());
const history = {
  get: (key) => JSON.parse(localStorage.getItem(key)) ?? undefined,
  update: (key, value) => localStorage.setItem(key, JSON.stringify(value)),
};
const agent = new AptixAgent({ client: new Aptix({ baseUrl: service }), threadId: localStorage.getItem('chat'), history });

const tools = [{ name: 'read_clock', description: 'Tells the time of the page.', parameters: { type: 'object', properties: {} } }];
const run = { read_clock: () => ({ time: new Date().toISOString() }) };

const list = document.querySelector('#messages');
let fault = '';
let interrupts = [];

function show() {
  const rows = agent.messages.flatMap(({ role, content, toolCalls = [] }) => {
    const calls = toolCalls.map((call) => ({ role: 'call', words: `${call.function.name}: ${answered().has(call.id) ? 'done' : 'waits'}` }));
    return role === 'tool' || role === 'reasoning' ? [] : [...(content ? [{ role, words: content }] : []), ...calls];
  });
  const elements = rows.map(({ role, words }) => Object.assign(document.createElement('article'), { className: role, textContent: words }));
  for (const { id, message } of interrupts) {
    const question = Object.assign(document.createElement('article'), { className: 'question', textContent: message });
    for (const [words, approved] of [['Run it', true], ['Refuse', false]]) {
      const button = Object.assign(document.createElement('button'), { textContent: words });
      button.onclick = () => go({ resume: [{ interruptId: id, status: 'resolved', payload: { approved } }] });
      question.append(button);
    }
    elements.push(question);
  }
  if (fault) elements.push(Object.assign(document.createElement('article'), { className: 'fault', textContent: fault }));
  list.replaceChildren(...elements);
}

const answered = () => new Set(agent.messages.filter(({ role }) => role === 'tool').map(({ toolCallId }) => toolCallId));

/** Runs until nothing is left for the page to do. */
async function go(params = {}, how = 'runAgent') {
  fault = '';
  interrupts = [];
  try {
    await agent[how]({ tools, ...params });
  } catch (error) {
    fault = error.message;
  }
  show();
  const calls = agent.messages.flatMap(({ toolCalls = [] }) => toolCalls).filter(({ id, function: { name } }) => run[name] && !answered().has(id));
  for (const { id, function: { name, arguments: given } } of calls) {
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: id, content: JSON.stringify(run[name](JSON.parse(given))) });
  }
  if (calls.length > 0) await go();
}

agent.subscribe({
  onMessagesChanged: show,
  onRunFinishedEvent: ({ event }) => void (interrupts = event.outcome?.interrupts ?? []),
  onRunErrorEvent: ({ event }) => void (fault = event.message),
});
document.querySelector('form').onsubmit = (event) => {
  event.preventDefault();
  const input = document.querySelector('input');
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: input.value });
  input.value = '';
  void go();
};
document.querySelector('#stop').onclick = () => agent.abortRun();
show();
// The thread comes back, and what ran or waited when the page was left goes on.
if (!isNew) void go({}, 'connectAgent');
