// Words that are added to a turn while it runs. Owns that what the page shows of them is the service's own account, also
// after a reload, a cut, or where another tab has added them.
import { AptixError, type SteerContent } from '../../../typescript/src/index.js';
import { isLost, noteLoss } from './connection.js';
import { failureOf } from './failure.js';
import { handleOf, type ShownTurn } from './shown_turn.js';
import { steersOf } from './history.js';
import * as outbox from './outbox.js';
import { aptix } from './service.js';
import * as turns from './turn_record.js';

/** What a steer is, besides where it stands. */
export interface Words {
  id: string;
  asked: turns.Asked;
  content: SteerContent;
}

/** The words that this page has added, for those that have to be sent again. */
const sent = new Map<string, Words>();

/**
 * Adds words to a turn; `ended` when it takes no more, so that nothing of them is kept, `waiting` when they did not arrive,
 * `settled` when another attempt has told what became of them.
 */
export async function add(turn: ShownTurn, words: Words, interrupt: boolean): Promise<'taken' | 'ended' | 'waiting' | 'failed' | 'settled'> {
  const { id, asked, content } = words;
  const show = (change: (record: turns.TurnRecord) => turns.TurnRecord) => turn.change(change);
  sent.set(id, words);
  // Nobody tells these of a loss that was noted before.
  const state = isLost.peek() ? 'waiting' : 'sending';
  show((record) => turns.steered(record, { id, state, asked, ...(interrupt && { isInterrupt: true }) }));
  try {
    const { State } = await handleOf(turn).steer(content, { steerId: id, interrupt });
    show((record) => turns.steered(record, { id, state: State }));
    return 'taken';
  } catch (error) {
    // They have arrived, are a turn by now, or were given up as one.
    if (!outbox.words.in(turn.session).some((each) => each.id === id && each.steers !== undefined)) return 'settled';
    // They were sent once more meanwhile, and have arrived.
    if (isThere(turn.record.peek(), id)) return 'taken';
    if (error instanceof AptixError && error.code === 'turn_ended') {
      show((record) => turns.withoutSteer(record, id));
      return 'ended';
    }
    if (error instanceof AptixError && error.code === 'connection_lost' && error.status === 0) {
      noteLoss();
      show((record) => turns.steered(record, { id, state: 'waiting' }));
      return 'waiting';
    }
    show((record) => turns.steered(record, { id, state: 'failed', message: failureOf(error).message }));
    return 'failed';
  }
}

/** Whether the service has told of a steer, whichever attempt has brought it. */
const isThere = ({ steps }: turns.TurnRecord, id: string): boolean =>
  steps.some((step) => step.kind === 'steer' && step.id === id && step.state !== 'sending' && step.state !== 'waiting' && step.state !== 'failed');

/** The words of a steer that did not arrive, if this page has sent them. */
export const wordsOf = (id: string): Words | undefined => sent.get(id);

/** The ids of the words that wait for the network. */
export const waitingOf = ({ steps }: turns.TurnRecord): string[] => steps.flatMap((step) => (step.kind === 'steer' && step.state === 'waiting' ? [step.id] : []));

/** Whether the service knows more of the turn's steers than the page shows. */
export const isBehind = ({ steps }: turns.TurnRecord): boolean =>
  steps.some((step) => step.kind === 'steer' && (step.state === 'pending' || !step.asked));

/** Fetches what has become of the turn's steers; those of another tab come with their words. */
export async function refresh(turn: ShownTurn): Promise<void> {
  const { turnId, steps } = turn.record.peek();
  const session = aptix.session(turn.session);
  const isUnknown = steps.some((step) => step.kind === 'steer' && !step.asked);
  try {
    const told = isUnknown
      ? steersOf((await session.export()).Turns.find(({ TurnId }) => TurnId === turnId))
      : ((await session.getTurn(turnId)).Steers ?? []).map(({ SteerId: id, State: state }) => ({ id, state }));
    turn.change((record) => told.reduce(turns.steered, record));
  } catch {
    // The page shows what it knows, and asks again with the next event.
  }
}

/** The same for a turn that waits, of whose steers no stream tells: first which there are, then their words. */
export async function catchUp(turn: ShownTurn): Promise<void> {
  await refresh(turn);
  if (turn.record.peek().steps.some((step) => step.kind === 'steer' && !step.asked)) await refresh(turn);
}
