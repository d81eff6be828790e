// The request as others would write it: curl, fetch, the client.
import { useState } from 'preact/hooks';
import type { TurnRequest } from '../../../typescript/src/index.js';
import { sessionId } from '../store/conversation.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { senders } from '../store/service.js';
import { copyText } from '../view/clipboard.js';
import { Code } from '../view/code.js';

const FORMS = {
  curl: { label: 'curl', language: 'bash', write: asCurl },
  fetch: { label: 'fetch', language: 'javascript', write: asFetch },
  client: { label: 'TypeScript client', language: 'typescript', write: asClient },
} as const;
/** Texts that are longer are shortened in what is shown; what is copied is whole. */
const LONGEST_SHOWN = 4000;

export function RequestView({ turn }: { turn: ShownTurn }) {
  const [form, setForm] = useState<keyof typeof FORMS>('curl');
  const request = turn.request ?? turn.kept;
  if (!request) return <p class="muted">The request of this turn is not known here yet.</p>;
  const { turnId } = turn.record.value;
  const { language, write } = FORMS[form];
  const short = JSON.parse(JSON.stringify(request), (_, value) => (typeof value === 'string' && value.length > LONGEST_SHOWN ? `${value.slice(0, 40)}… ${value.length} characters` : value));
  const copy = () => copyText(write(turnId, request), 'The request is copied.');
  return (
    <>
      <div class="tabs" role="group" aria-label="Form of the request">
        {(Object.keys(FORMS) as (keyof typeof FORMS)[]).map((each) => (
          <button key={each} type="button" aria-pressed={form === each} onClick={() => setForm(each)}>
            {FORMS[each].label}
          </button>
        ))}
      </div>
      {!turn.request && <p class="muted">Put together from what the service keeps: its files, its workspace and its scope are not in it.</p>}
      <Code text={write(turnId, short)} language={language} />
      {JSON.stringify(short) !== JSON.stringify(request) && (
        <div class="actions">
          <button type="button" onClick={copy}>
            Copy it whole
          </button>
          <span class="muted">Long texts are shortened here.</span>
        </div>
      )}
    </>
  );
}

const json = (value: unknown): string => JSON.stringify(value, null, 2);
const bodyOf = (turnId: string, request: TurnRequest) => ({ SessionId: sessionId.value, TurnId: turnId, ...request, Streaming: true });

function asCurl(turnId: string, request: TurnRequest): string {
  const quoted = json(bodyOf(turnId, request)).replaceAll("'", `'\\''`);
  const { hasKey, user } = senders();
  const key = hasKey ? `  -H "Authorization: Bearer $APTIX_KEY" \\\n` : '';
  const acting = user === undefined ? '' : `  -H 'Aptix-User: ${named(user)}' \\\n`;
  return `curl -N '${location.origin}/execute?Progress=true' \\\n${key}${acting}  -H 'Content-Type: application/json' \\\n  -d '${quoted}'`;
}

/** A user's name as a header has it, and within quotes of a shell. */
const named = (user: string): string => encodeURIComponent(user).replaceAll("'", '%27');

function headersOf() {
  const { hasKey, user } = senders();
  return { ...(hasKey && { Authorization: 'Bearer …' }), ...(user !== undefined && { 'Aptix-User': named(user) }), 'Content-Type': 'application/json' };
}

function asFetch(turnId: string, request: TurnRequest): string {
  return [
    `const response = await fetch(${json(`${location.origin}/execute?Progress=true`)}, {`,
    `  method: "POST",`,
    `  headers: ${JSON.stringify(headersOf())},`,
    `  body: JSON.stringify(${json(bodyOf(turnId, request))}),`,
    `});`,
    `const events = response.body.pipeThrough(new TextDecoderStream());`,
    `for await (const piece of events) console.log(piece);`,
  ].join('\n');
}

function asClient(turnId: string, request: TurnRequest): string {
  const { hasKey, user } = senders();
  const more = `${hasKey ? ', credential: "…"' : ''}${user === undefined ? '' : `, user: ${json(user)}`}`;
  return [
    `import { Aptix } from "aptix-edge";`,
    ``,
    `const aptix = new Aptix({ baseUrl: ${json(location.origin)}${more} });`,
    `const session = aptix.session(${json(sessionId.value)});`,
    `const turn = session.turn(${json(request)}, { turnId: ${json(turnId)}, progress: true });`,
    `for await (const event of turn) {`,
    `  if (event.type === "text") process.stdout.write(event.delta);`,
    `}`,
    `console.log((await turn.final()).Usage);`,
  ].join('\n');
}
