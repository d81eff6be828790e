// What the model service was sent for a turn: the exact body of each model call, to be read and copied.
import { useMemo, useState } from 'preact/hooks';
import { formatJson } from '../../../typescript/src/index.js';
import { failureOf } from '../store/failure.js';
import { exportFile } from '../store/export_file.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { isLive } from '../store/turn_record.js';
import { copyText } from '../view/clipboard.js';
import { sentCalls, type SentCall } from './exact_request.js';
import { bytes } from './trace.js';

/** A longer text is copied whole, and shown in part. */
const MOST_SHOWN = 100_000;

export function ExactRequestView({ turn }: { turn: ShownTurn }) {
  const [calls, setCalls] = useState<readonly SentCall[]>();
  const [fault, setFault] = useState('');
  const [chosen, choose] = useState(0);
  const { turnId } = turn.record.value;
  const fetchThem = async () => {
    setFault('');
    try {
      setCalls(await sentCalls(await (await exportFile(turn.session)).text(), turnId));
    } catch (error) {
      setFault(failureOf(error).message);
    }
  };
  if (!calls) {
    return (
      <>
        <p class="muted">No copy of a body is kept. Each is made again from the session's export, and its SHA-256 says whether it is the one that was sent.</p>
        <button type="button" disabled={isLive(turn.record.value)} onClick={fetchThem}>
          Show the exact bodies
        </button>
        {fault && <p class="fault" role="alert">{fault}</p>}
      </>
    );
  }
  const call = calls[chosen] ?? calls[0];
  if (!call) return <p class="muted">No model call of this turn can be built again.</p>;
  let number = 0;
  return (
    <>
      <div class="tabs" role="group" aria-label="Model call whose body is shown">
        {calls.map((each, at) => (
          <button key={each.number} type="button" aria-pressed={each === call} onClick={() => choose(at)}>
            {each.isSummary ? 'Summary of earlier turns' : `Body of call ${(number += 1)}`}
          </button>
        ))}
      </div>
      <p class="muted">
        {`${bytes(call.bytes)}. `}
        {call.isExact === undefined && 'Whether these are the bytes that were sent cannot be checked on a page without https.'}
        {call.isExact === true && 'These are the bytes that were sent: their SHA-256 is that of the transcript.'}
        {call.isExact === false && 'These are not the very bytes that were sent: some items went in a shorter form.'}
        {' Address, headers and keys are kept nowhere.'}
      </p>
      <Body json={call.body} label="Body of the request to the model service" />
    </>
  );
}

/** A piece of JSON, laid out; what is copied is as it is written. */
export function Body({ json, label }: { json: string; label: string }) {
  const text = useMemo(() => formatJson(json), [json]);
  return (
    <>
      <div class="code">
        <div class="code-head">
          <span>json</span>
          <button type="button" class="copy" onClick={() => copyText(json, 'It is copied.')}>
            Copy it as it was sent
          </button>
        </div>
        <pre class="sent-body" tabIndex={0} role="group" aria-label={label}>
          <code>{text.slice(0, MOST_SHOWN)}</code>
        </pre>
      </div>
      {text.length > MOST_SHOWN && <p class="muted">{`The first ${MOST_SHOWN.toLocaleString('en')} of ${text.length.toLocaleString('en')} characters are shown; what is copied is whole.`}</p>}
    </>
  );
}
