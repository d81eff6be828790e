// A trial that outlives its page. What it was about waits in this tab's storage: ids, nothing that was said.
import { effect } from '@preact/signals';
import { sessionId, shownTurns } from '../store/conversation.js';
import { ofTab } from '../store/storage.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { atEnd, until } from './observing.js';
import { carryOut, type Report, type Trial } from './trial.js';

const PLACE = 'aptix-edge.reloaded';

export function leaveForReload(turnId: string): void {
  if (!ofTab.set(PLACE, JSON.stringify({ session: sessionId.peek(), turnId }))) throw new Error('This browser keeps nothing over a reload, which the trial needs.');
  location.reload();
}

/** Goes on with the trial after the reload, if there was one; `show` opens its panel. */
export function afterReload(trial: Trial, check: (report: Report, turn: ShownTurn) => Promise<void>, show: () => void): void {
  const left = ofTab.get(PLACE);
  if (left === null) return;
  ofTab.remove(PLACE);
  const { session, turnId } = JSON.parse(left) as { session: string; turnId: string };
  show();
  const find = () => shownTurns.value.find(({ record }) => record.value.turnId === turnId);
  const run = async (report: Report) => {
    report.does('Reloaded. The turn is followed again.');
    await until(() => find() !== undefined, 'The turn');
    report.finds('back', true, `turn ${turnId} of session ${session}`);
    await atEnd(find()!);
    await check(report, find()!);
  };
  // The session is opened by its address, in a moment.
  const stop = effect(() => {
    if (sessionId.value !== session) return;
    queueMicrotask(() => {
      stop();
      void carryOut({ ...trial, run });
    });
  });
}
