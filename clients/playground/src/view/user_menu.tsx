// Who sits before this tab: signing in as a user of one's own invention, leaving, and having all of it erased.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { UserErasureReceipt } from '../../../typescript/src/index.js';
import { announced } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import { eraseUser, user } from '../store/user.js';
import { Icon } from './icon.js';
import { agreed } from './question.js';
import { isOfComposition } from './typing.js';

const isOpen = signal(false);
const fault = signal('');
const isErasing = signal(false);
/** What the newest erasure has erased. */
const erased = signal<{ name: string; receipt: UserErasureReceipt | undefined } | undefined>(undefined);

/** `onChange`: somebody else sits here now, so that what is open is no longer theirs. */
export function UserMenu({ onChange }: { onChange(): void }) {
  const name = user.value;
  const change = (to: string | undefined) => {
    user.value = to;
    isOpen.value = false;
    erased.value = undefined;
    announced.value = to === undefined ? 'Signed out.' : `Signed in as ${to}.`;
    onChange();
  };
  const erase = async () => {
    if (name === undefined || !(await agreed(`Erase the user “${name}”?`, 'All sessions of this user are erased from the service. Nothing brings them back.'))) return;
    fault.value = '';
    isErasing.value = true;
    try {
      const receipt = await eraseUser();
      if (user.peek() === name) change(undefined);
      // Somebody else may sit here by now. Who only signed out meanwhile is told what was erased.
      if (user.peek() === undefined) erased.value = { name, receipt };
    } catch (error) {
      if (user.peek() !== name && user.peek() !== undefined) return;
      const failure = failureOf(error);
      fault.value = failure.code === 'user_not_found' ? 'The service knows nothing of this user.' : failure.message;
    } finally {
      isErasing.value = false;
    }
  };
  const button = useRef<HTMLButtonElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || isOfComposition(event) || !isOpen.value) return;
    event.stopPropagation();
    isOpen.value = false;
    button.current?.focus();
  };
  return (
    <section class="user" aria-label="User" onKeyDown={onKeyDown}>
      <button ref={button} type="button" class="plain who" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
        <Icon name="user" /> <span dir="auto">{name ?? 'Sign in as a user'}</span>
      </button>
      {isOpen.value && name === undefined && <SignIn onName={change} />}
      {isOpen.value && name !== undefined && (
        <>
          <a href={location.pathname + location.search} target="_blank" rel="noopener">
            Another user in another tab
          </a>
          <button type="button" class="plain" onClick={() => change(undefined)}>
            Sign out
          </button>
          <button type="button" class="plain danger" disabled={isErasing.value} onClick={erase}>
            <Icon name="trash" /> {isErasing.value ? 'Erasing…' : 'Erase me'}
          </button>
        </>
      )}
      {fault.value && <p class="fault" role="alert">{fault.value}</p>}
      {erased.value && <Receipt {...erased.value} />}
    </section>
  );
}

function SignIn({ onName }: { onName(name: string): void }) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  const take = (event: Event) => {
    event.preventDefault();
    const name = input.current?.value.trim();
    if (name) onName(name);
  };
  return (
    <form onSubmit={take}>
      <label for="user">Any name that you make up</label>
      <input ref={input} id="user" dir="auto" autocomplete="off" spellcheck={false} required maxLength={128} />
      <small>The service keeps each user's sessions apart, and lists them.</small>
      <button type="submit" class="primary">
        Sign in
      </button>
    </form>
  );
}

const Receipt = ({ name, receipt }: { name: string; receipt: UserErasureReceipt | undefined }) => (
  <div role="status">
    <p>
      <strong>
        <bdi>{name}</bdi> {receipt && receipt.Sessions.Pending > 0 ? 'is not erased yet.' : 'is erased.'}
      </strong>
    </p>
    {receipt && (
      <p class="muted">
        {`${counted(receipt.Sessions.Erased, 'session')}, ${counted(receipt.Rows, 'row')}, ${counted(receipt.Files, 'file')}. `}
        {receipt.Sessions.Failed > 0 && `Not erased: ${receipt.Sessions.Failed}. `}
        {`Kept: ${receipt.Kept.join(', ')}.`}
      </p>
    )}
  </div>
);

const counted = (count: number, of: string) => `${count} ${of}${count === 1 ? '' : 's'}`;
