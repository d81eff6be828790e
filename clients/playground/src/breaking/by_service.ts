// What a model service does to a turn. The stand-in of `make dev` does it when it is asked to; another one only answers.
import { begin } from '../store/conversation.js';
import { answerOf, type TurnRecord } from '../store/turn_record.js';
import { atEnd, said, statusOf, streamedText, traceOf } from './observing.js';
import { remembers, rememberWord, WORD_CLAIM } from './remembering.js';
import type { Report, Trial } from './trial.js';

/** What is seen of a turn's failure. */
const toldOf = ({ status, failure }: TurnRecord): string => (failure ? `${failure.code}: ${failure.message}` : `The turn is ${status}.`);

/** A turn that has to fail in this way. */
async function fails(report: Report, words: string, code: string) {
  const turn = await said(words);
  const record = turn.record.peek();
  report.finds('failed', record.status === 'failed' && record.failure?.code === code, toldOf(record));
  return turn;
}

async function withWord(report: Report, doing: string, run: () => Promise<unknown>) {
  const word = await rememberWord(report);
  report.does(doing);
  await run();
  return remembers(report, word);
}

export const byService: readonly Trial[] = [
  {
    id: 'refuse',
    title: 'Refuse',
    does: 'The model service refuses the call for good.',
    needsIdle: true,
    claims: { failed: 'The turn fails with upstream_rejected, which says who has to act.', word: WORD_CLAIM },
    run: async (report) => void (await withWord(report, 'The call is refused.', () => fails(report, 'Refuse this call.', 'upstream_rejected'))),
  },
  {
    id: 'overload',
    title: 'Overload',
    does: 'The model service is overloaded when it is called, and well a moment later.',
    needsIdle: true,
    claims: { retried: 'The service waits and calls it again by itself.', answered: 'The turn is answered as if nothing had been.', word: WORD_CLAIM },
    run: async (report) =>
      void (await withWord(report, 'The first call is refused as too many.', async () => {
        const turn = await said('Be overloaded once.');
        const retries = (await traceOf(turn)).ModelCalls[0]?.Retries?.length ?? 0;
        report.finds('retried', retries > 0, `repetitions: ${retries}`);
        report.finds('answered', statusOf(turn) === 'completed', toldOf(turn.record.peek()));
      })),
  },
  {
    id: 'down',
    title: 'Go down',
    does: 'The model service goes down in the middle of a turn, when a tool has run. Another one is there.',
    needsIdle: true,
    claims: {
      answered: 'The turn goes on at the other service, and is answered.',
      once: 'The tool ran once, and the other service was told what it gave.',
      traced: 'The trace says which service answered which call.',
      word: WORD_CLAIM,
    },
    run: async (report) =>
      void (await withWord(report, 'The service goes down behind a tool.', async () => {
        const turn = await said('Go down in the middle.');
        const { ModelCalls, ToolCalls } = await traceOf(turn);
        const missing = ToolCalls.length === 0 ? 'no tool was called' : ModelCalls[0]?.Service === undefined && 'the catalog names no other service (Fallbacks)';
        if (missing) return ['answered', 'once', 'traced'].forEach((claim) => report.finds(claim, 'unseen', missing));
        const services = ModelCalls.map(({ Service }) => Service);
        report.finds('answered', statusOf(turn) === 'completed', toldOf(turn.record.peek()));
        const isTold = answerOf(turn.record.peek()).includes(ToolCalls[0]!.Name);
        report.finds('once', ToolCalls.length === 1 && ToolCalls[0]!.Successful === true && isTold, `calls of tools: ${ToolCalls.length}`);
        report.finds('traced', services.length === 2 && services[0] !== services[1], `answered by ${services.join(', then ')}`);
      })),
  },
  {
    id: 'words',
    title: 'Cut after five words',
    does: 'The model service breaks its stream off in the middle of an answer.',
    needsIdle: true,
    claims: {
      failed: 'Half an answer is never taken for a whole one: the turn fails with upstream_protocol.',
      again: 'The same request, sent again, goes on with the same turn and gives the whole answer.',
      word: WORD_CLAIM,
    },
    run: async (report) =>
      void (await withWord(report, 'The stream is broken off.', async () => {
        const turn = await fails(report, 'Cut the answer after 5 words.', 'upstream_protocol');
        const half = streamedText(turn.events.peek());
        report.does('The same request is sent again.');
        begin(turn);
        await atEnd(turn);
        const whole = answerOf(turn.record.peek());
        const { ModelCalls } = await traceOf(turn);
        const isWhole = statusOf(turn) === 'completed' && whole.startsWith(half) && whole.length > half.length;
        report.finds('again', isWhole && ModelCalls.length === 2, `model calls: ${ModelCalls.length}, characters: ${half.length}, then ${whole.length}`);
      })),
  },
  {
    id: 'silence',
    title: 'Go silent',
    does: 'The model service accepts the call and never says a word.',
    needsIdle: true,
    claims: { failed: 'It is given up after UPSTREAM_IDLE_TIMEOUT_MS, with upstream_timeout.', word: WORD_CLAIM },
    run: async (report) => void (await withWord(report, 'Silence. It is waited out.', () => fails(report, 'Be silent.', 'upstream_timeout'))),
  },
  {
    id: 'chain',
    title: 'Forget the conversation',
    does: 'The model service forgets every response that it has given, and with them what the next call builds on.',
    needsIdle: true,
    claims: { rebuilt: 'The next call is refused, and made again with the whole conversation from storage.', word: WORD_CLAIM },
    run: async (report) => {
      const next = await withWord(report, 'Everything is forgotten.', () => said('Lose the chain.'));
      const { ModelCalls } = await traceOf(next);
      report.finds('rebuilt', ModelCalls.some(({ Rebuilt }) => Rebuilt), `model calls: ${ModelCalls.length}`);
    },
  },
  {
    id: 'window',
    title: 'Fill the window',
    does: 'The model service answers with as much text as fits into its context window.',
    needsIdle: true,
    claims: { compacted: 'The session does not end: the next turn sends earlier ones as a summary.', word: WORD_CLAIM },
    run: async (report) => {
      const next = await withWord(report, 'The window is being filled.', () => said('Fill the window.'));
      const { Compactions } = await traceOf(next);
      const last = Compactions.at(-1);
      report.finds('compacted', Compactions.length > 0, last && `items: ${last.ItemsBefore}, then ${last.ItemsAfter}; summary: ${last.SummaryBytes} bytes`);
    },
  },
];
