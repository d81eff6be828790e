// The scenarios of AG-UI's dojo over CopilotKit's own core, which runs the page's tools, follows up and restores threads as
// it does under React. Names, schemas and answers of the tools are the dojo's; the few elements stand for its components.
import { CopilotKitCore } from '@copilotkit/core';
import { Aptix } from 'aptix-edge';
import { AptixAgent } from 'aptix-edge/ag-ui';
import { z } from 'zod';

const query = new URLSearchParams(location.search);
const store = {
  get: (key) => JSON.parse(localStorage.getItem(key) ?? 'null') ?? undefined,
  update: (key, value) => localStorage.setItem(key, JSON.stringify(value)),
};
const agent = new AptixAgent({ client: new Aptix({ baseUrl: query.get('service') }), agentId: 'dojo', threadId: query.get('thread'), history: store });
/** What the page asks, by the id of a call or of an interrupt: `{ words, steps?, answers }`. */
const questions = new Map();
/** How often each tool of the page ran since it was opened. */
const runs = (globalThis.runs = {});

const ran = (name) => void (runs[name] = (runs[name] ?? 0) + 1);
const step = z.object({ description: z.string(), status: z.enum(['enabled', 'disabled', 'executing']) });
const lines = z.array(z.string());
const SCENARIOS = {
  agentic_chat: {
    context: [{ description: 'Name of the user', value: 'Bob' }],
    tools: [
      {
        name: 'change_background',
        description: 'Change the background color of the chat.',
        parameters: z.object({ background: z.string() }),
        handler: async ({ background }) => {
          ran('change_background');
          document.body.style.background = background;
          return { status: 'success', message: `Background changed to ${background}` };
        },
      },
    ],
  },
  human_in_the_loop: {
    tools: [
      {
        name: 'generate_task_steps',
        description: 'Generates a list of steps for the user to perform',
        type: 'human-in-the-loop',
        parameters: z.object({ steps: z.array(step) }),
        handler: ({ steps }, { toolCall, signal }) => {
          ran('generate_task_steps');
          return new Promise((resolve, reject) => {
            const chosen = () => steps.filter((_, at) => document.querySelectorAll('[type=checkbox]')[at].checked);
            ask(toolCall.id, { words: 'Select Steps', steps, answers: { Reject: () => resolve({ accepted: false }), Confirm: () => resolve({ accepted: true, steps: chosen() }) } });
            signal?.addEventListener('abort', () => reject(new Error('The interaction was aborted.')));
          });
        },
      },
    ],
  },
  tool_based_generative_ui: {
    tools: [
      {
        name: 'generate_haiku',
        followUp: false,
        parameters: z.object({ japanese: lines, english: lines, image_name: z.string(), gradient: z.string() }),
        handler: async () => {
          ran('generate_haiku');
          return 'Haiku generated!';
        },
      },
    ],
  },
  interrupt: { tools: [] },
};
const { tools, context = [] } = SCENARIOS[query.get('scenario')];
const copilotkit = new CopilotKitCore({ agents__unsafe_dev_only: { dojo: agent }, tools });
for (const each of context) copilotkit.addContext(each);

function ask(id, question) {
  questions.set(id, question);
  show();
}

const element = (tag, className, textContent) => Object.assign(document.createElement(tag), { className, textContent });

function show() {
  const rows = agent.messages.flatMap(({ role, content, toolCalls = [], toolCallId }) => {
    if (role === 'tool') return [element('article', 'result', `${toolCallId}: ${content}`)];
    const calls = toolCalls.map(({ function: { name, arguments: given } }) => element('article', 'call', `${name} ${given}`));
    return [...(content && role !== 'reasoning' ? [element('article', role, content)] : []), ...calls];
  });
  document.querySelector('#messages').replaceChildren(...rows, ...[...questions].map(([id, question]) => asked(id, question)));
}

function asked(id, { words, steps = [], answers }) {
  const article = element('article', 'question', words);
  for (const { description } of steps) {
    const label = element('label', '', description);
    label.prepend(Object.assign(document.createElement('input'), { type: 'checkbox', checked: true }));
    article.append(label);
  }
  for (const [name, answer] of Object.entries(answers)) {
    const button = element('button', '', name);
    button.onclick = () => {
      // Before the question goes: the answer reads what is ticked.
      answer();
      questions.delete(id);
      show();
    };
    article.append(button);
  }
  return article;
}

/** As the hook for interrupts does: the decision is the call's result until there is another, and the run keeps its id. */
function decide({ id, toolCallId }, payload, runId) {
  agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content: JSON.stringify(payload) });
  void copilotkit.runAgent({ agent, runId, resume: [{ interruptId: id, status: 'resolved', payload }] });
}

agent.subscribe({
  onMessagesChanged: show,
  onRunFinishedEvent: ({ event: { outcome }, input: { runId } }) => {
    for (const interrupt of outcome?.interrupts ?? []) {
      const answers = { Approve: () => decide(interrupt, { approved: true }, runId), Deny: () => decide(interrupt, { approved: false, reason: 'she is away' }, runId) };
      ask(interrupt.id, { words: interrupt.message, answers });
    }
  },
});
document.querySelector('form').onsubmit = (event) => {
  event.preventDefault();
  const input = document.querySelector('form input');
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: input.value });
  input.value = '';
  // The result of a tool that needs no answer comes without a message's saying so.
  void copilotkit.runAgent({ agent }).then(show);
};
document.querySelector('#stop').onclick = () => copilotkit.stopAgent({ agent });
await copilotkit.connectAgent({ agent });
document.body.dataset.connected = 'true';
