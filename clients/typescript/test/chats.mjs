// A chat of the AI SDK over the Worker: `AbstractChat` is the whole of `useChat` without React.
import { eventually } from '../../../tests/e2e/harness.mjs';
import { AptixChatTransport, isAnswered } from '../dist/ai-sdk.js';
import { Aptix } from '../dist/index.js';
import * as ai6 from 'ai6';

class State {
  status = 'ready';
  error = undefined;
  constructor(messages = []) {
    this.messages = messages;
  }
  pushMessage = (message) => void (this.messages = [...this.messages, message]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (at, message) => void (this.messages = this.messages.with(at, this.snapshot(message)));
  snapshot = (value) => structuredClone(value);
}

const read = { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: { path: { type: 'string' } } } };
let serial = 0;
/** A chat; the tool `read` is run by the page. */
export function chatAt(url, ai, { id = `chat-${++serial}`, messages, transport = {}, wholeTransport, client = {}, ...init } = {}) {
  const chat = chatOf(ai, messages, {
    id,
    sendAutomaticallyWhen: isAnswered,
    onToolCall: ({ toolCall: { toolName: tool, toolCallId, input } }) => {
      if (tool === 'read') void chat.addToolOutput({ tool, toolCallId, output: { contents: input.path } });
    },
    transport: wholeTransport ?? new AptixChatTransport({
      client: new Aptix({ baseUrl: `${url}`, retryDelayMs: 1, ...client }),
      tools: [read],
      holdText: ai === ai6,
      ...transport,
    }),
    ...init,
  });
  return chat;
}

/** A chat of the SDK with these messages, and a state as a page would keep it. */
export function chatOf({ AbstractChat }, messages, init) {
  class Chat extends AbstractChat {
    constructor() {
      super({ ...init, state: new State(messages) });
    }
  }
  return new Chat();
}

/** A message's parts in short. */
export const shape = ({ parts }) =>
  parts.map((part) => {
    if (part.type === 'text') return part.text;
    return part.type === 'dynamic-tool' ? `${part.toolName}:${part.state}` : part.type === 'step-start' ? '|' : part.type;
  });
export const done = (chat) => eventually(() => chat.status === 'ready' && !isAnswered(chat), 'the chat is done');
