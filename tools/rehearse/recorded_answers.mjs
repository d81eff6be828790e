// What a session's tools gave and its humans decided, by the call: the k-th call with the same name and the same arguments gets
// the k-th recorded result.
import { canonical } from './canonical.mjs';

/** What the model is told of a call that the record lacks. */
export const NOT_RECORDED = 'not recorded';

export class RecordedAnswers {
  #results;
  #decisions;

  constructor(turns) {
    const all = turns.flatMap(({ id, calls }) => calls.map((call) => ({ turn: id, call })));
    const ran = all.filter(({ call: { RunsOn, Approval } }) => RunsOn !== 'nobody' && Approval?.Decision !== 'refused');
    this.#results = ran.map(({ turn, call }) => entry(turn, call, call.Approval?.ArgumentsJson ?? call.ArgumentsJson));
    const decided = all.filter(({ call: { Approval } }) => Approval);
    this.#decisions = decided.map(({ turn, call }) => entry(turn, call, call.ArgumentsJson));
  }

  /** The recorded call whose result this call gets; without an `Answer` where the record ends before it. */
  result(turn, name, argumentsJson) {
    return take(this.#results, turn, name, argumentsJson);
  }

  /** The recorded call whose decision stands for this one. */
  decision(turn, name, argumentsJson) {
    return take(this.#decisions, turn, name, argumentsJson);
  }
}

const keyOf = (name, argumentsJson) => `${name}\n${canonical(argumentsJson)}`;
const entry = (turn, call, argumentsJson) => ({ turn, call, key: keyOf(call.Name, argumentsJson), isTaken: false });

/** Those of the turn come first: where an earlier turn calls otherwise than it did, the later ones still get their own. */
function take(entries, turn, name, argumentsJson) {
  const key = keyOf(name, argumentsJson);
  const open = entries.filter((each) => each.key === key && !each.isTaken);
  const found = open.find((each) => each.turn === turn) ?? open[0];
  if (found) found.isTaken = true;
  return found?.call;
}
