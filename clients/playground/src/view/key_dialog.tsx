// Where the service asks for keys, the page asks for one. It stays in memory, so a reload asks again.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { access, giveKey } from '../store/service.js';

export function KeyDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const take = (event: Event) => {
    event.preventDefault();
    const key = input.current?.value.trim();
    if (key) giveKey(key);
  };
  // A browser closes a dialog in spite of the page where Esc is pressed again, and without a key nothing works.
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="key-title" onCancel={(event) => event.preventDefault()} onClose={() => dialog.current?.showModal()}>
      <form onSubmit={take}>
        <h1 id="key-title">Your key</h1>
        <p class="muted">This service lets in whoever has a key. The page keeps it in memory only: a reload forgets it.</p>
        {access.value === 'refused' && <p class="fault" role="alert">The service does not know this key.</p>}
        <label for="key">API key</label>
        <input ref={input} id="key" type="password" autocomplete="off" required />
        <div class="actions">
          <button type="submit" class="primary">
            Continue
          </button>
        </div>
      </form>
    </dialog>
  );
}
