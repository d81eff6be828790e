// The input items that stand for the items of an answer when a call sends the whole conversation (interface §4): ids and
// statuses refer to what the model service may not keep. Reasoning that can be read again goes with the item behind it, both
// under their own ids. What else there is, the hash of the whole body tells.

interface Item {
  type?: string;
  id?: string;
  status?: string;
  phase?: string;
  content?: { type: string; text?: string; refusal?: string }[];
  call_id?: string;
  name?: string;
  arguments?: string;
  summary?: { type: string; text: string }[];
  encrypted_content?: string | null;
}

/** What became of the reasoning before an item: it is sent with the item behind it, or not at all. */
type ReasoningBefore = 'none' | 'waiting' | 'sent' | 'left out';

/** `items` as they are stored, JSON texts; so are those that are sent. */
export function forReplay(items: readonly string[]): string[] {
  const sent: string[] = [];
  let waiting: string[] = [];
  let before = 'none' as ReasoningBefore;
  for (const json of items) {
    const item = JSON.parse(json) as Item;
    if (item.type === 'compaction') {
      sent.push(json);
      before = 'none';
    } else if (item.type === 'reasoning') {
      const { id, summary = [], encrypted_content } = item;
      const isReadable = Boolean(id && encrypted_content);
      waiting = isReadable ? [...(before === 'waiting' ? waiting : []), JSON.stringify({ type: 'reasoning', id, summary, encrypted_content })] : [];
      before = isReadable ? 'waiting' : 'left out';
    } else {
      const own: string | undefined = before === 'waiting' || before === 'sent' ? withId(item) : undefined;
      if (before === 'waiting') {
        if (own !== undefined) sent.push(...waiting);
        before = own === undefined ? 'left out' : 'sent';
      }
      const said = own ?? withoutId(item);
      if (said !== undefined) sent.push(said);
    }
  }
  return sent;
}

const phaseOf = ({ phase }: Item) => (phase === 'commentary' || phase === 'final_answer' ? { phase } : {});
const callOf = ({ call_id, name, arguments: given }: Item) => ({ call_id, name, arguments: given });

function withId(item: Item): string | undefined {
  const { type, id, status, content = [] } = item;
  if (!id) return undefined;
  if (type === 'function_call') return status === 'incomplete' ? undefined : JSON.stringify({ type, id, ...callOf(item) });
  if (type !== 'message') return undefined;
  const text = (words: string) => ({ type: 'output_text', text: words, annotations: [], logprobs: [] });
  const parts = content.filter((part) => part.text || part.refusal).map((part) => (part.refusal ? { type: 'refusal', refusal: part.refusal } : text(part.text!)));
  const ended = status === 'incomplete' ? status : 'completed';
  return JSON.stringify({ type, id, role: 'assistant', status: ended, content: parts.length > 0 ? parts : [text('')], ...phaseOf(item) });
}

function withoutId(item: Item): string | undefined {
  const { type, status, content = [] } = item;
  if (type === 'function_call') return status === 'incomplete' ? undefined : JSON.stringify({ type, ...callOf(item) });
  if (type !== 'message') return undefined;
  return JSON.stringify({ type, role: 'assistant', content: content.map((part) => part.text ?? part.refusal ?? '').join(''), ...phaseOf(item) });
}
