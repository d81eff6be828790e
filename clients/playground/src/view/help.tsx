// The help: the keys, or, where fingers do it, what is where.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.js';
import { hasTouchKeyboard, isApple } from './screen.js';

export const isHelpOpen = signal(false);

const CONTROL = isApple ? '⌘' : 'Ctrl';
const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['Enter', 'sends the message, or adds it to what runs'],
  ['Shift Enter', 'breaks the line'],
  ['↑', 'in an empty message box: your last question, then the ones before'],
  ['Esc', 'closes what lies over the conversation or has the focus; then stops the turn that runs'],
  ['Alt N', isApple ? 'where nothing is written: begins a new session' : 'begins a new session'],
  [`${CONTROL} K`, 'searches the sessions: their titles, and by Enter what was said'],
  [`${CONTROL} Shift F`, 'searches in the conversation; Enter goes on, Shift Enter back'],
  ['A or R', 'on a call that waits: approves or refuses it'],
  ['← →', 'below an answer: the next of its actions'],
  ['← →', 'on the edge of a pane: its width; Enter resets it'],
  [`? or ${CONTROL} /`, 'this help'],
];

/** The same where fingers do it. */
const TOUCHES: readonly (readonly [place: string, does: string])[] = [
  ['☰', 'the sessions, and a search in them'],
  ['⋮', 'the panels: the inspector and Break it among them'],
  ['A turn', 'a tap chooses it for the inspector'],
  ['Below it', 'regenerate it, fork from it, compare it with another'],
  ['Mode', 'what the agent is told to be; the head shows it'],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isTouched = hasTouchKeyboard();
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="help-title" onClose={() => (isHelpOpen.value = false)}>
      <header>
        <h1 id="help-title">{isTouched ? 'Help' : 'Keys'}</h1>
        <button type="button" class="icon-button" onClick={() => dialog.current?.close()}>
          <Icon name="close" />
          <span class="hidden">Close the help</span>
        </button>
      </header>
      <dl class="keys">
        {(isTouched ? TOUCHES : KEYS).map(([what, does]) => (
          <div key={does}>
            <dt>{isTouched ? what : what.split(' ').map((key) => (key === 'or' ? ' or ' : <kbd>{key}</kbd>))}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
