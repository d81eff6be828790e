// The comparison as a dialog: first with what a turn is compared, then both runs beside each other.
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { variantsOf, type TurnPlace } from '../store/branches.js';
import { attachedTo, titleOf } from '../branching/branching.js';
import { ContextField } from '../branching/context_field.js';
import { announced, boundContexts, shownTurns } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { Icon } from '../view/icon.js';
import { compareAnew, compareRehearsed, compareWith, comparison, placeOf, type Comparison } from './comparison.js';
import { SidesView } from './sides_view.js';

export function ComparisonDialog() {
  const shown = comparison.value;
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = shown !== undefined;
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  if (!shown) return null;
  const close = () => (comparison.value = undefined);
  return (
    <dialog ref={dialog} class={`comparison${shown.sides ? ' with-sides' : ''}`} aria-labelledby="comparison-title" onClose={close}>
      <header>
        <h1 id="comparison-title">Compare</h1>
        <p class="words" dir="auto">{wordsOf(shown) || 'A turn without words'}</p>
        <button type="button" class="icon-button" onClick={() => dialog.current?.close()}>
          <Icon name="close" />
          <span class="hidden">Close the comparison</span>
        </button>
      </header>
      {'rehearsed' in shown && <RehearsedChoice {...shown} />}
      {shown.sides ? <SidesView sides={shown.sides} leave={() => dialog.current?.close()} /> : 'turn' in shown && <Choice turn={shown.turn} />}
    </dialog>
  );
}

const wordsOf = (shown: Comparison): string => ('rehearsed' in shown ? shown.shown.words : shown.turn.record.value.asked.text);

/** Which turn of a rehearsal is shown. */
function RehearsedChoice({ rehearsed, shown }: Extract<Comparison, { rehearsed: unknown }>) {
  const id = useId();
  return (
    <form>
      <label for={id}>Turn</label>
      <select id={id} value={rehearsed.indexOf(shown)} onChange={(event) => compareRehearsed(rehearsed, rehearsed[Number(event.currentTarget.value)]!)}>
        {rehearsed.map(({ name }, at) => (
          <option key={at} value={at}>
            {name}
          </option>
        ))}
      </select>
    </form>
  );
}

const ANEW = 'anew';
const nameOf = ({ session, turn }: TurnPlace): string => `${session}/${turn}`;
const SHORT = 36;
const short = (text: string): string => (text.length > SHORT ? `${text.slice(0, SHORT - 1)}…` : text);

function Choice({ turn }: { turn: ShownTurn }) {
  const [chosen, choose] = useState(ANEW);
  const [context, setContext] = useState('');
  const [both, setBoth] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  const id = useId();
  const others = shownTurns.value.map((each, at) => ({ each, at })).filter(({ each }) => each !== turn);
  const here = others.map(({ each, at }) => ({ place: placeOf(each), name: `Turn ${at + 1}: ${short(each.record.value.asked.text || 'without words')}` }));
  const asked = variantsOf(placeOf(turn)).map((place, at) => ({ place, name: `Asked ${at === 0 ? 'again' : 'once more'} in: ${short(titleOf(place.session) ?? place.session)}` }));
  const all = [...asked, ...here];
  const isAnew = chosen === ANEW;
  const lacksFiles = isAnew && !attachedTo(turn);
  const compare = async (event: Event) => {
    event.preventDefault();
    const other = all.find(({ place }) => nameOf(place) === chosen);
    if (other) return compareWith(turn, other.name, other.place);
    setBusy(true);
    setFault('');
    try {
      await compareAnew(turn, context.trim(), both);
      announced.value = 'The question is asked again.';
    } catch (error) {
      setFault(failureOf(error).message);
      setBusy(false);
    }
  };
  return (
    <form onSubmit={compare}>
      <label for={`${id}-with`}>Compare this turn with</label>
      <select id={`${id}-with`} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        <option value={ANEW}>The question, asked again</option>
        {all.map(({ place, name }) => (
          <option key={nameOf(place)} value={nameOf(place)}>
            {name}
          </option>
        ))}
      </select>
      {isAnew && (
        <>
          <ContextField value={context} onChange={setContext} hint={`Its id in the catalog, with its prompt and model; empty for the turn's own${boundContexts.value ? ` (${boundContexts.value.conversation})` : ''}.`} />
          <label class="check">
            <input type="checkbox" checked={both} onChange={(event) => setBoth(event.currentTarget.checked)} />
            <span>
              Ask both sides again
              <small>Instead of the answer that there is: both then begin at the same time, from the same conversation.</small>
            </span>
          </label>
        </>
      )}
      {lacksFiles && <p class="fault">The page no longer has the files of this question, so it cannot be asked again as it was.</p>}
      {fault && <p class="fault" role="alert">{fault}</p>}
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy || lacksFiles}>
          {isBusy ? 'Branching…' : 'Compare'}
        </button>
      </div>
    </form>
  );
}
