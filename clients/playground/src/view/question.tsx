// Questions of the page's own: whether something is to be done that cannot be undone, and what something is to be called.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface Asked {
  title: string;
  /** What it means, below the title. */
  more?: string;
  /** On the button that agrees. */
  does: string;
  /** What is written so far, where something is to be written. */
  text?: string;
  /** It is only shown, to be copied by hand. */
  isFixed?: boolean;
}

const question = signal<(Asked & { answered(text: string | undefined): void }) | undefined>(undefined);

const ask = (asked: Asked): Promise<string | undefined> =>
  new Promise((resolve) => {
    question.value = { ...asked, answered: (text) => ((question.value = undefined), resolve(text)) };
  });

/** Whether the user agrees to what cannot be undone. */
export const agreed = async (title: string, more: string, does = 'Erase'): Promise<boolean> => (await ask({ title, more, does })) !== undefined;

/** What the user writes; `undefined` where nothing is to be changed. */
export const written = (title: string, text: string, does: string): Promise<string | undefined> => ask({ title, text, does });

/** Shows a text that is to be copied by hand. */
export const shownToCopy = (title: string, text: string): Promise<unknown> => ask({ title, text, does: 'Done', isFixed: true });

export function Question() {
  const asked = question.value;
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const fixed = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (!asked) return;
    dialog.current?.showModal();
    (input.current ?? fixed.current)?.select();
  }, [asked]);
  if (!asked) return null;
  const { title, more, does, text, isFixed, answered } = asked;
  // A dialog that is closed gives the focus back to what was pressed.
  const leave = (event: Event, given?: string) => {
    event.preventDefault();
    dialog.current?.close();
    answered(given);
  };
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="question-title" onCancel={leave}>
      <form onSubmit={(event) => leave(event, input.current?.value ?? '')}>
        <h1 id="question-title" dir="auto">{title}</h1>
        {more && <p class="muted">{more}</p>}
        {isFixed && <textarea ref={fixed} class="mono" rows={4} readOnly aria-labelledby="question-title" value={text} />}
        {text !== undefined && !isFixed && <input ref={input} dir="auto" aria-labelledby="question-title" autocomplete="off" maxLength={200} required defaultValue={text} />}
        <div class="actions">
          <button type="submit" class={text === undefined ? 'danger' : 'primary'}>
            {does}
          </button>
          {/* Whoever presses Enter without reading loses nothing. */}
          {!isFixed && (
            <button type="button" autofocus={text === undefined} onClick={leave}>
              Cancel
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
