// A chat in a page with React and the AI SDK. The chat's id and what was said stay in the browser, so that a reloaded page
// goes on where it was, also in the middle of an answer.
import { useChat } from '@ai-sdk/react';
import { Aptix, formatJson } from 'aptix-edge';
import { AptixChatTransport, isAnswered } from 'aptix-edge/ai-sdk';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

const baseUrl = new URL(location.href).searchParams.get('service') ?? 'http://127.0.0.1:8787';
const id = (sessionStorage.chat ??= `chat-${crypto.randomUUID()}`);
const clock = { name: 'read_clock', description: 'Tells the time of day.', parameters: { type: 'object', properties: {} } };
const stored = () => JSON.parse(sessionStorage.messages ?? '[]');
const forks = { get: (key) => sessionStorage[key], update: (key, session) => void (sessionStorage[key] = session) };
const transport = new AptixChatTransport({ client: new Aptix({ baseUrl }), tools: [clock], shown: stored, forks });

function Part({ part, decide }) {
  if (part.type === 'text') return part.text;
  if (part.type !== 'dynamic-tool') return null;
  return (
    <div className="tool">
      {part.toolName}: {part.state}
      {part.state === 'approval-requested' && (
        <>
          <pre>{formatJson(part.callProviderMetadata.aptix.argumentsJson)}</pre>
          {part.approval.requestReason}
          <button onClick={() => decide({ id: part.approval.id, approved: true })}>Run it</button>
          <button onClick={() => decide({ id: part.approval.id, approved: false })}>Refuse</button>
        </>
      )}
    </div>
  );
}

function Chat() {
  const [input, setInput] = useState('');
  const { messages, sendMessage, regenerate, addToolOutput, addToolApprovalResponse, status, error } = useChat({
    id,
    transport,
    resume: true,
    messages: stored(),
    sendAutomaticallyWhen: isAnswered,
    onToolCall: ({ toolCall: { toolName: tool, toolCallId } }) => {
      if (tool === clock.name) void addToolOutput({ tool, toolCallId, output: new Date().toLocaleTimeString() });
    },
  });
  useEffect(() => {
    if (messages.length > 0) sessionStorage.messages = JSON.stringify(messages);
  }, [messages]);
  const send = (event) => {
    event.preventDefault();
    if (input.trim()) void sendMessage({ text: input });
    setInput('');
  };
  return (
    <>
      {messages.map((message) => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, at) => <Part key={at} part={part} decide={addToolApprovalResponse} />)}
        </article>
      ))}
      {error && <p className="error">{error.code ?? error.name}: {error.message}</p>}
      <form onSubmit={send}>
        <input value={input} onChange={(event) => setInput(event.target.value)} placeholder="Say something" autoFocus />
        <button disabled={status === 'submitted' || status === 'streaming'}>Send</button>
        <button type="button" disabled={status !== 'ready' || messages.length === 0} onClick={() => void regenerate()}>Again</button>
      </form>
      <small id="status">{status}</small>
    </>
  );
}

createRoot(document.querySelector('main')).render(<Chat />);
