// What can be done with a turn that has ended, as a toolbar below its answer; and its question, to be asked otherwise.
import { signal } from '@preact/signals';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { comparison } from '../comparison/comparison.js';
import { linkTo } from '../store/address.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { answerOf } from '../store/turn_record.js';
import { copyText } from '../view/clipboard.js';
import { Icon, type IconName } from '../view/icon.js';
import { hasTouchKeyboard } from '../view/screen.js';
import { isEnter } from '../view/typing.js';
import { askAgain, attachedTo, faultOf, forkFrom, hasEnded, underWay } from './branching.js';

/** The turn whose question is being written anew. */
const edited = signal<ShownTurn | undefined>(undefined);
export const isEdited = (turn: ShownTurn): boolean => edited.value === turn;

export function TurnActions({ turn }: { turn: ShownTurn }) {
  const [copied, setCopied] = useState('');
  if (!hasEnded(turn)) return null;
  const answer = answerOf(turn.record.value);
  const copy = async (text: string, name: string, told: string) => {
    if (await copyText(text, told)) setCopied(name);
  };
  const place = { session: turn.session, turn: turn.record.value.turnId };
  // Files that are gone have to be attached again, so its question is edited.
  const again = () => (attachedTo(turn) ? askAgain(turn) : (edited.value = turn));
  return (
    <div class="turn-actions" role="toolbar" aria-label="Actions of this turn" onKeyDown={moveFocus}>
      {answer && <Action name="Copy the answer" word="Copy" icon={copied === 'answer' ? 'check' : 'copy'} isFirst act={() => copy(answer, 'answer', 'The answer is copied.')} />}
      <Action name="Regenerate" word="Regenerate" icon="retry" isFirst={!answer} act={again} />
      <Action name="Fork from here" word="Fork" does="goes on from here in a branch; this conversation stays as it is" icon="branch" act={() => forkFrom(turn)} />
      <Action name="Compare" word="Compare" does="this answer beside another one" icon="compare" act={() => (comparison.value = { turn })} />
      <Action name="Copy a link to this turn" word="Link" icon={copied === 'link' ? 'check' : 'link'} act={() => copy(linkTo(place), 'link', 'The link is copied.')} />
      {underWay.value === turn && <span class="muted">Branching…</span>}
      {faultOf(turn) && <span class="fault" role="alert">{faultOf(turn)}</span>}
    </div>
  );
}

interface ActionProps {
  /** Its whole name; `word` is what is seen of it, `does` what it does where the name does not tell. */
  name: string;
  word: string;
  does?: string;
  icon: IconName;
  isFirst?: boolean;
  act(): void;
}

/** A toolbar is one stop of the Tab key. */
const Action = ({ name, word, does, icon, isFirst, act }: ActionProps) => (
  <button type="button" class="small" title={does ? `${name}: ${does}` : name} aria-label={name} tabIndex={isFirst ? 0 : -1} onClick={act}>
    <Icon name={icon} />
    <span>{word}</span>
  </button>
);

const STEPS: Partial<Record<string, (at: number, all: number) => number>> = {
  ArrowRight: (at, all) => (at + 1) % all,
  ArrowLeft: (at, all) => (at + all - 1) % all,
  Home: () => 0,
  End: (_, all) => all - 1,
};

function moveFocus(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  const buttons = [...event.currentTarget.querySelectorAll('button')];
  const next = buttons[step(buttons.indexOf(event.target as HTMLButtonElement), buttons.length)]!;
  for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
  next.focus();
}

/** Beside a question. */
export const EditQuestion = ({ turn }: { turn: ShownTurn }) =>
  hasEnded(turn) ? (
    <button type="button" class="small edit" title="Edit and send again" onClick={() => (edited.value = turn)}>
      <Icon name="pencil" />
      <span class="hidden">Edit and send again</span>
    </button>
  ) : null;

/** In a question's place while it is edited. */
export function QuestionEditor({ turn }: { turn: ShownTurn }) {
  const { asked } = turn.record.value;
  const [words, setWords] = useState(asked.text);
  const box = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const attached = attachedTo(turn);
  const canSend = words.trim() !== '' || (attached?.length ?? 0) > 0;
  useLayoutEffect(() => {
    box.current?.focus();
    box.current?.setSelectionRange(words.length, words.length);
  }, []);
  const close = () => {
    const item = box.current?.closest('.turn');
    edited.value = undefined;
    // The button comes back when this is drawn, which is before anything else is pressed.
    queueMicrotask(() => item?.querySelector<HTMLElement>('.edit')?.focus());
  };
  const submit = () => {
    if (!canSend || underWay.value) return;
    void askAgain(turn, words.trim()).then(() => {
      // Another question may be written anew by then.
      if (!faultOf(turn) && edited.peek() === turn) edited.value = undefined;
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      close();
    } else if (isEnter(event) && !event.shiftKey && !hasTouchKeyboard()) {
      event.preventDefault();
      submit();
    }
  };
  return (
    <form class="question-editor" aria-label="Edit and send again" onSubmit={(event) => (event.preventDefault(), submit())} onKeyDown={onKeyDown}>
      <textarea ref={box} dir="auto" aria-label="The question, to be sent again" aria-describedby={id} rows={Math.min(10, words.split('\n').length + 1)} value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      <p id={id} class="muted">
        It is asked in a branch; this conversation stays as it is.
        {!attached && ` The page no longer has ${asked.files.join(', ')}, so it goes without.`}
      </p>
      {faultOf(turn) && <p class="fault" role="alert">{faultOf(turn)}</p>}
      <div class="actions">
        <button type="submit" class="primary" disabled={!canSend || underWay.value !== undefined}>
          Send
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  );
}
