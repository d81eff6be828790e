// Where the user writes: words, pasted pictures, dropped files.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { addressOf, attach, attachments, detach, filesBeingRead, refusedFiles, takeAttached, type Attachment } from '../store/attachments.js';
import { isLost } from '../store/connection.js';
import { add, cancel, liveTurn, notStopped, send, sessionId, shownTurns, stopping } from '../store/conversation.js';
import { unanswered } from '../store/turn_record.js';
import { draft } from '../store/unsent.js';
import { Icon } from './icon.js';
import { hasTouchKeyboard } from './screen.js';
import { isEnter, isOfComposition } from './typing.js';

const LONGEST_PX = 240;
/** So many characters fill a box of that height in any case. To have a long text laid out with each key takes longer than the key. */
const FILLED_BY = 4000;

export function Composer() {
  const box = useRef<HTMLTextAreaElement>(null);
  const pressed = useRef<'Send' | 'Stop' | undefined>(undefined);
  const turn = liveTurn.value;
  const waits = turn !== undefined && unanswered(turn.record.value).length > 0;
  const canSend = filesBeingRead.value === 0 && (draft.value.trim() !== '' || attachments.value.length > 0);
  useLayoutEffect(() => {
    if (!hasTouchKeyboard()) box.current?.focus();
  }, [sessionId.value]);
  useLayoutEffect(() => {
    const { style } = box.current!;
    if (draft.value.length > FILLED_BY) return void (style.height = `${LONGEST_PX}px`);
    style.height = 'auto';
    style.height = `${Math.min(LONGEST_PX, box.current!.scrollHeight)}px`;
  }, [draft.value]);
  // What was pressed is gone, or means something else now.
  const refocus = () => hasTouchKeyboard() || box.current?.focus();
  const submit = (interrupt = false) => {
    if (!canSend) return;
    refocus();
    const words = draft.value.trim();
    if (turn) void add(turn, words, takeAttached(), interrupt);
    else send(words, takeAttached());
    draft.value = '';
  };
  // One stands in the place of the other: the second half of a double click on Send stops nothing, nor does that of one on Stop
  // send what is being written.
  const isSecondHalf = ({ detail }: MouseEvent, of: 'Send' | 'Stop') => {
    const isSecond = detail > 1 && pressed.current !== of;
    if (!isSecond) pressed.current = of;
    return isSecond;
  };
  const stop = (event: MouseEvent) => {
    refocus();
    if (turn && !isSecondHalf(event, 'Stop')) void cancel(turn);
  };
  const sendOnce = (event: MouseEvent) => (isSecondHalf(event, 'Send') ? refocus() : submit());
  const recall = useRecall();
  const onKeyDown = (event: KeyboardEvent) => {
    if (recall(event)) return event.preventDefault();
    if (!isEnter(event) || event.shiftKey || hasTouchKeyboard()) return;
    event.preventDefault();
    // A key that is held was pressed elsewhere: a card that it has answered gives the focus to this box.
    if (!event.repeat) submit();
  };
  const onPaste = (event: ClipboardEvent) => {
    const held = event.clipboardData;
    const files = [...(held?.files ?? [])];
    // Office programs copy words with a picture of them. A picture of a page has no plain text, and a file no HTML.
    if (files.length === 0 || (held?.types.includes('text/html') && held.getData('text/plain').trim() !== '')) return;
    event.preventDefault();
    void attach(files);
  };
  return (
    <div class="composer">
      {refusedFiles.value && <p class="fault" role="alert">{refusedFiles.value}</p>}
      {turn && notStopped.value?.turn === turn && <p class="fault" role="alert">{`The turn is not stopped: ${notStopped.value.message}`}</p>}
      <div class="composer-box">
        {attachments.value.length > 0 && (
          <ul class="attachments" aria-label="Attachments">
            {attachments.value.map((each) => (
              <Attached key={each} attachment={each} />
            ))}
          </ul>
        )}
        <textarea
          ref={box}
          id="message"
          dir="auto"
          rows={1}
          aria-label="Message"
          placeholder={waits ? 'Add words that go with your answer…' : turn ? 'Add to what runs…' : 'Ask the agent…'}
          value={draft.value}
          onInput={(event) => (draft.value = event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <div class="composer-bar">
          <label class="icon-button" title="Attach files">
            <input type="file" multiple class="hidden" onChange={attachChosen} />
            <Icon name="attach" />
            <span class="hidden">Attach files</span>
          </label>
          {turn && isLost.value && stopping.value === turn.record.value.turnId ? (
            <span class="hint" role="status">The turn is stopped when the network is back.</span>
          ) : waits ? (
            <>
              <WaitsForYou />
              <span class="hint">
                <kbd>Enter</kbd> adds words that go with your answer
              </span>
            </>
          ) : (
            <span class="hint">
              <kbd>Enter</kbd> {turn ? 'adds' : 'sends'}, <kbd>Shift</kbd> <kbd>Enter</kbd> breaks the line
            </span>
          )}
          {turn && canSend && (
            <>
              {!waits && (
                <button type="button" class="plain" onClick={() => submit(true)} title="Drop what the model is writing, and have it begin again with these words">
                  Interrupt
                </button>
              )}
              <button type="button" onClick={() => submit()} title={waits ? 'The model gets these words with your answer' : 'The model gets these words with its next call'}>
                Add
              </button>
            </>
          )}
          {turn ? (
            <button type="button" class="round stop" onClick={stop} title="Stop the turn">
              <Icon name="stop" />
              <span class="hidden">Stop</span>
            </button>
          ) : (
            <button type="button" class="round primary" disabled={!canSend} onClick={sendOnce} title="Send">
              <Icon name="send" />
              <span class="hidden">Send</span>
            </button>
          )}
        </div>
      </div>
    </div>
  );
}

/** What the user has said in this session, oldest first. */
const asked = (): string[] =>
  shownTurns.peek().flatMap(({ record }) => {
    const { asked: first, steps } = record.peek();
    return [first.text, ...steps.flatMap((step) => (step.kind === 'steer' && step.asked ? [step.asked.text] : []))];
  }).filter(Boolean);

/** In an empty box the arrow upwards brings back what was asked, and further back while that stays as it is. */
function useRecall(): (event: KeyboardEvent) => boolean {
  const back = useRef(0);
  return (event) => {
    const { key, shiftKey, ctrlKey, altKey, metaKey } = event;
    const step = key === 'ArrowUp' ? 1 : key === 'ArrowDown' ? -1 : 0;
    if (step === 0 || shiftKey || ctrlKey || altKey || metaKey || isOfComposition(event)) return false;
    const all = asked();
    if (draft.peek() === '') back.current = 0;
    // In words of several lines the arrows move between these.
    else if (draft.peek() !== all.at(-back.current) || draft.peek().includes('\n')) return false;
    const to = back.current + step;
    if (to < 0 || to > all.length) return false;
    back.current = to;
    draft.value = to === 0 ? '' : all.at(-to)!;
    return true;
  };
}

function attachChosen(event: Event): void {
  const input = event.currentTarget as HTMLInputElement;
  void attach([...(input.files ?? [])]).then(() => (input.value = ''));
}

function Attached({ attachment }: { attachment: Attachment }) {
  return (
    <li class="chip">
      {attachment.kind === 'picture' ? <img src={addressOf(attachment.image)} alt="" /> : <Icon name="file" />}
      {attachment.name}
      <button type="button" class="small" onClick={() => detach(attachment)}>
        <Icon name="close" />
        <span class="hidden">Remove {attachment.name}</span>
      </button>
    </li>
  );
}

/** The way from the message box to what the turn waits for. */
function WaitsForYou() {
  const go = () => {
    const question = document.querySelector<HTMLElement>('.question');
    question?.focus();
    question?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <button type="button" class="waits" onClick={go}>
      The agent waits for your answer
    </button>
  );
}
