// One turn: what was asked, what happened, the answer, and what it cost.
import { computed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { FileRef, Usage } from '../../../typescript/src/index.js';
import { EditQuestion, isEdited, QuestionEditor, TurnActions } from '../branching/turn_actions.js';
import { addAgain, chosenTurn, lookedAt, namedTurn, parent } from '../store/conversation.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { isLive, seconds, type Asked, type SteerStep, type Step, type TurnRecord, APPROVAL } from '../store/turn_record.js';
import { wordsOf } from '../store/steering.js';
import { panelShown } from '../panels.js';
import { Approval, Decided } from './approval_card.js';
import { Ended } from './failure_card.js';
import { Icon } from './icon.js';
import { LongText } from './long_text.js';
import { Markdown } from './markdown.js';
import { ClientTool, ServerTool } from './tool_cards.js';
import { Unsent } from './unsent_card.js';

/** The turn that the open panel is about. Each turn asks whether it is that one, so that another one draws two turns anew, and not all. */
const marked = computed(() => (panelShown.value?.isOfTurn ? lookedAt.value : undefined));

export function TurnView({ turn }: { turn: ShownTurn }) {
  const record = turn.record.value;
  const isChosen = useMemo(() => computed(() => marked.value === turn), [turn]).value;
  const isNamed = useMemo(() => computed(() => namedTurn.value === record.turnId), [record.turnId]).value;
  const choose = () => (chosenTurn.value = turn);
  return (
    <li class={`turn${isChosen ? ' chosen' : ''}${isNamed ? ' named' : ''}`} data-status={record.status} data-turn={record.turnId} aria-current={isNamed ? 'location' : undefined} onClick={choose} onFocusIn={choose}>
      {isEdited(turn) ? <QuestionEditor turn={turn} /> : <Question turn={turn} />}
      <div class="answer">
        <h2 class="hidden">The agent</h2>
        {record.steps.map((step, at) => (
          <StepView key={keyOf(step, at)} turn={turn} step={step} isLast={at === record.steps.length - 1} />
        ))}
        {record.status === 'running' && !isTyping(record) && <Waiting />}
        {record.status === 'unsent' && <Unsent turn={turn} />}
        {record.warnings.map((warning) => (
          <p class="notice" key={warning}>
            <Icon name="warning" /> <span dir="auto">{warning}</span>
          </p>
        ))}
        {record.files.length > 0 && <Files files={record.files} />}
        {record.failure && <Ended turn={turn} failure={record.failure} status={record.status} />}
        {!isLive(record) && record.status !== 'unsent' && <Foot record={record} />}
        <TurnActions turn={turn} />
        {parent.value?.TurnId === record.turnId && (
          <p class="note branch-begins">
            <Icon name="branch" /> The branch begins here.
          </p>
        )}
      </div>
    </li>
  );
}

const keyOf = (step: Step, at: number): string =>
  step.kind === 'server_tool' || step.kind === 'steer' || step.kind === 'decision' ? step.id : step.kind === 'client_call' ? step.call.ToolCallId : `${step.kind}-${at}`;

/** Whether text is coming, which shows by itself that the turn runs. */
const isTyping = ({ steps }: TurnRecord): boolean => {
  const last = steps.at(-1);
  return last?.kind === 'text' && !last.isKept;
};

function Question({ turn }: { turn: ShownTurn }) {
  return (
    <div class="question-row">
      <EditQuestion turn={turn} />
      <div class="question-bubble">
        <h2 class="hidden">You</h2>
        <Words asked={turn.record.value.asked} />
      </div>
    </div>
  );
}

const STATES: Record<SteerStep['state'], string> = {
  sending: 'Being added…',
  pending: 'Added; the model gets it with its next call',
  delivered: 'The model has it',
  kept: 'The turn ended first; the next one has it',
  refused: 'The model service refused it',
  waiting: 'Waiting for the network',
  failed: 'Not added',
};

/** Words that were added while the turn ran. */
function Steer({ turn, step: { id, state, asked, message } }: { turn: ShownTurn; step: SteerStep }) {
  return (
    <div class="question-bubble steer" data-steer={state}>
      <h3 class="hidden">You, while it ran</h3>
      {asked ? <Words asked={asked} /> : <p class="muted">Words from elsewhere…</p>}
      <small>
        {STATES[state]}
        {message && `: ${message}`}
      </small>
      {state === 'failed' && wordsOf(id) && (
        <button type="button" onClick={() => addAgain(turn, id)}>
          <Icon name="retry" /> Add it again
        </button>
      )}
    </div>
  );
}

function Words({ asked: { text, pictures, files } }: { asked: Asked }) {
  return (
    <>
      {pictures.map((address, at) => (
        <img key={at} src={address} alt={`Attached picture ${at + 1}`} />
      ))}
      {files.map((name) => (
        <span class="chip" key={name}>
          <Icon name="file" /> {name}
        </span>
      ))}
      {text && <LongText text={text} />}
    </>
  );
}

function StepView({ turn, step, isLast }: { turn: ShownTurn; step: Step; isLast: boolean }) {
  switch (step.kind) {
    case 'text':
      return <Markdown text={step.text} isGrowing={!step.isKept && isLive(turn.record.value)} />;
    case 'reasoning':
      return <Folded icon="thought" title={isLast && isLive(turn.record.value) ? 'Reasoning…' : 'Reasoning'} text={step.text} />;
    case 'commentary':
      return <Folded icon="comment" title="Commentary" text={step.text} />;
    case 'server_tool':
      return <ServerTool turn={turn} step={step} />;
    case 'client_call':
      return step.call.Name === APPROVAL ? <Approval turn={turn} step={step} /> : <ClientTool turn={turn} step={step} />;
    case 'decision':
      return <Decided step={step} />;
    case 'steer':
      return <Steer turn={turn} step={step} />;
    case 'note':
      return <p class="note">{step.text}</p>;
  }
}

function Folded({ icon, title, text }: { icon: 'thought' | 'comment'; title: string; text: string }) {
  return (
    <details class="folded">
      <summary>
        <Icon name={icon} /> {title} <Icon name="chevron" />
      </summary>
      <Markdown text={text} />
    </details>
  );
}

const Waiting = () => (
  <p class="waiting">
    <span />
    <span />
    <span />
    <span class="hidden">The agent is working.</span>
  </p>
);

function Files({ files }: { files: readonly FileRef[] }) {
  return (
    <ul class="files" aria-label="Files">
      {files.map(({ Name, MimeType, Url, SizeBytes, Description }) => (
        <li key={Url}>
          <a href={Url} download={Name}>
            <Icon name="download" />
            <span>
              <strong dir="auto">{Name}</strong>
              <small dir="auto">{[Description, MimeType, size(SizeBytes)].filter(Boolean).join(' · ')}</small>
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

const size = (bytes: number): string => (bytes < 1024 ? `${bytes} bytes` : bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`);

const count = (tokens: number): string => tokens.toLocaleString('en');

function Foot({ record: { usage, startedAt, endedAt, mode, status } }: { record: TurnRecord }) {
  const spent = endedAt === undefined || status === 'lost' ? '' : seconds(Math.max(0, endedAt - startedAt));
  return (
    <footer class="foot">
      {[mode, usage && tokens(usage), spent].filter(Boolean).map((words) => (
        <span key={words}>{words}</span>
      ))}
    </footer>
  );
}

function tokens({ PromptTokens, CachedTokens, CompletionTokens, ReasoningTokens, Estimated }: Usage): string {
  const cached = CachedTokens > 0 ? ` (${count(CachedTokens)} cached)` : '';
  const reasoning = ReasoningTokens > 0 ? ` (${count(ReasoningTokens)} reasoning)` : '';
  return `${Estimated ? 'about ' : ''}${count(PromptTokens)}${cached} in, ${count(CompletionTokens)}${reasoning} out`;
}
