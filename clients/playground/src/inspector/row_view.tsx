// What went into a row of the timeline and what came out of it, from the session's export: the trace itself has no content.
import { useEffect, useState } from 'preact/hooks';
import { failureOf } from '../store/failure.js';
import { exportFile } from '../store/export_file.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { Icon } from '../view/icon.js';
import { Body } from './exact_request_view.js';
import { passedThrough, type Passed } from './exact_request.js';
import type { Row } from './timeline.js';

export function RowView({ turn, row, close }: { turn: ShownTurn; row: Row; close(): void }) {
  const [passed, setPassed] = useState<readonly Passed[]>();
  const [fault, setFault] = useState('');
  const { turnId, status } = turn.record.value;
  useEffect(() => {
    let isGone = false;
    setPassed(undefined);
    setFault('');
    exportFile(turn.session)
      .then(async (file) => passedThrough(await file.text(), turnId, row.opens!))
      .then((found) => isGone || setPassed(found))
      .catch((error) => isGone || setFault(failureOf(error).message));
    return () => void (isGone = true);
  }, [turn, status]);
  return (
    <section class="row-contents" aria-label={`${row.name}: input and output`}>
      <header>
        <h4>{row.name}</h4>
        <button type="button" class="small" onClick={close}>
          <Icon name="close" />
          <span class="hidden">Close {row.name}</span>
        </button>
      </header>
      {!passed && !fault && <p class="muted">Asking for the export…</p>}
      {fault && <p class="fault" role="alert">{fault}</p>}
      {passed?.length === 0 && <p class="muted">The service keeps nothing of it yet.</p>}
      {passed?.map(({ label, json, text }) => (
        <div key={label}>
          <p class="label">{label}</p>
          {json !== undefined ? <Body json={json} label={label} /> : <p dir="auto">{text}</p>}
        </div>
      ))}
    </section>
  );
}
