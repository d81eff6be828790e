// One recorded turn, run again: what its model calls wait for, what its tools are answered, what its client and its humans say.
import { canonical } from './canonical.mjs';
import { answerMcp } from './recorded_mcp.mjs';
import { NOT_RECORDED } from './recorded_answers.mjs';

/** The tool by which the service asks a human (interface §12). */
const APPROVAL = 'agent_approve_tool';
/** How many more pauses than were recorded a turn gets: who answers by the record could go on for ever. */
const MORE_PAUSES = 8;

export class TurnRun {
  /** Calls that the record lacks, and questions that nobody has decided there: `{ Name, ArgumentsJson }`. */
  unrecorded = [];
  /** Words of the user that found no moment in the turn. */
  unsent;
  #turn;
  #session;
  #answers;
  #ask;
  #heard = 0;
  #isCancelled = false;

  /** `session` and `turn` are recorded (record.mjs), `answers` the session's; `ask(route, body)` posts as the session's user, `null` being no body. */
  constructor({ session, turn, answers, ask }) {
    this.#session = session;
    this.#turn = turn;
    this.#answers = answers;
    this.#ask = ask;
    this.unsent = turn.steers.map((steer) => ({ ...steer }));
  }

  /**
   * Runs it; resolves to `{ error, isOpen }`: the code by which it failed or was refused, and whether it waits for an answer that
   * the record has not either.
   */
  async run() {
    const ids = { SessionId: this.#session.id, TurnId: this.#turn.id };
    const { request, exported } = this.#turn;
    let told = await this.#ask('/execute', { ...ids, Streaming: true, ...request });
    // The tool that was to be called first may not be offered any more; the turn is rehearsed without the choice.
    if (told.Errors?.[0]?.Path === '/ToolChoiceName') {
      const { ToolChoiceName, ...rest } = request;
      told = await this.#ask('/execute', { ...ids, Streaming: true, ...rest });
    }
    let pauses = exported.Submissions.length + MORE_PAUSES;
    while (told.Successful && told.Result.Kind === 'client_tool_continuation') {
      const answers = told.Result.ToolCalls.map((call) => (call.Name === APPROVAL ? this.#decision(call) : this.#clientResult(call)));
      pauses -= 1;
      if (answers.includes(undefined) || pauses < 0) {
        await this.#cancel();
        return pauses < 0 ? { error: 'too_many_pauses' } : { isOpen: true };
      }
      told = await this.#ask('/execute', { ...ids, ToolResults: answers });
    }
    return told.Successful ? {} : { error: told.Errors[0].ErrorCode };
  }

  /** Whether a model call goes on to its service. Words that come while one is under way are sent then. */
  async modelCall() {
    if (this.#turn.status === 'aborted' && this.#heard >= this.#turn.heard) {
      await this.#cancel();
      return false;
    }
    let goesOn = true;
    // One that comes while a call is under way is in the next call; one that interrupts is in the same call, made again.
    const isDue = ({ before, interrupts }) => before <= this.#heard + (interrupts ? 0 : 1);
    const due = this.unsent.filter(isDue);
    // The call that is made again may come before the answer to the steer.
    this.unsent = this.unsent.filter((steer) => !isDue(steer));
    for (const steer of due) {
      if (await this.#steer(steer, steer.interrupts)) goesOn &&= !steer.interrupts;
    }
    return goesOn;
  }

  modelAnswered(status) {
    if (status < 300) this.#heard += 1;
  }

  /** What the record answers at a path of the rehearsal's own origin. */
  async recorded(pathname, text) {
    const [, kind, name] = pathname.split('/').map(decodeURIComponent);
    if (kind === 'retrieval') return json({ Chunks: this.#turn.retrieved });
    if (kind === 'mcp') {
      const tools = this.#session.servers[name] ?? [];
      const named = (tool) => this.#session.nameOf(name, tool);
      return answerMcp(text, tools, (tool, argumentsJson) => this.#serverResult(named(tool), argumentsJson));
    }
    const answer = await this.#serverResult(name, JSON.stringify(JSON.parse(text).Arguments));
    if (answer === null) return json({}, 503);
    // The model gets the same as of a call that has an `ErrorMessage`, whatever the tool's `OnError` is.
    return answer?.ResultJson === undefined ? json({ error: answer?.ErrorMessage ?? NOT_RECORDED }) : { status: 200, text: answer.ResultJson };
  }

  /** A recorded `Answer`; `undefined` of a call that the record lacks, `null` of one by which its turn failed or in which it was cancelled. */
  async #serverResult(name, argumentsJson) {
    const call = this.#answers.result(this.#turn.id, name, argumentsJson);
    if (!call) return this.#lacks(name, argumentsJson);
    if (call.Answer) return call.Answer;
    if (this.#turn.status === 'aborted') await this.#cancel();
    return null;
  }

  /** The client's own answer; `undefined` where the record ends before it. */
  #clientResult({ ToolCallId, Name, ArgumentsJson }) {
    const call = this.#answers.result(this.#turn.id, Name, ArgumentsJson);
    if (call && !call.Answer) return undefined;
    if (call) return { ...call.Answer, ToolCallId };
    this.#lacks(Name, ArgumentsJson);
    return { ToolCallId, ExecutionMs: 0, ErrorMessage: NOT_RECORDED };
  }

  /** What a human has decided of the same call; `undefined` where the record ends before the decision. */
  #decision({ ToolCallId, ArgumentsJson }) {
    const { Name, Arguments, AllowEdit } = JSON.parse(ArgumentsJson);
    const asked = JSON.stringify(Arguments);
    const call = this.#answers.decision(this.#turn.id, Name, asked);
    const said = (ResultJson) => ({ ToolCallId, ExecutionMs: 0, ResultJson });
    const refused = (Reason) => said(JSON.stringify({ Approved: false, Reason }));
    if (call && call.Approval.Decision === undefined) return undefined;
    const edited = call?.Approval.ArgumentsJson;
    if (!call || (edited !== undefined && !AllowEdit)) {
      this.#lacks(Name, asked);
      return refused(NOT_RECORDED);
    }
    if (call.Approval.Decision === 'approved') return said(edited === undefined ? '{"Approved":true}' : `{"Approved":true,"Arguments":${edited}}`);
    const [, reason] = / Reason: ([^]*)\. Do not repeat it\.$/.exec(call.Answer?.ErrorMessage ?? '') ?? [];
    return refused(reason);
  }

  #lacks(Name, argumentsJson) {
    this.unrecorded.push({ Name, ArgumentsJson: canonical(argumentsJson) });
  }

  /** Sends words of the user; resolves to whether the turn has taken them. */
  async #steer(steer, Interrupt) {
    const { Successful } = await this.#ask(`/sessions/${this.#session.id}/turns/${this.#turn.id}/steer`, { ...steer.request, Interrupt });
    if (!Successful) this.unsent.push(steer);
    return Successful;
  }

  async #cancel() {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    // Words to which no call has responded are in the conversation all the same, and the next turn's model sees them.
    const late = this.unsent.filter(({ isKept, before }) => isKept || before >= this.#turn.heard);
    this.unsent = this.unsent.filter((steer) => !late.includes(steer));
    for (const steer of late) await this.#steer(steer, false);
    await this.#ask(`/sessions/${this.#session.id}/turns/${this.#turn.id}/cancel`, null);
  }
}

const json = (value, status = 200) => ({ status, text: JSON.stringify(value) });
