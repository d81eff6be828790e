// The trials, each with its button, its claims and what was found.
import { liveTurn } from '../store/conversation.js';
import { Icon } from '../view/icon.js';
import { seconds } from '../store/turn_record.js';
import { awaySeconds, byClient } from './by_client.js';
import { byService } from './by_service.js';
import { goesElsewhere, isSpared } from './own_session.js';
import { outcomes, running, start, type Finding, type Outcome, type Trial } from './trial.js';

const LONGEST_AWAY_S = 600;

export function BreakingPanel() {
  return (
    <>
      <p class="lead">Each button breaks something, says what should be true all the same, and looks whether it is.</p>
      <p class="muted">{isSpared() ? 'For that it talks to the agent, in a session of its own, so that this conversation stays as it is. Only a turn that runs here is itself cut, reloaded or left.' : 'For that it talks to the agent, in this session.'}</p>
      <section>
        <h3>From this side</h3>
        {byClient.map((trial) => (
          <Card key={trial.id} trial={trial}>
            {trial.id === 'leave' && <Away />}
          </Card>
        ))}
      </section>
      <section>
        <h3>From the model’s side</h3>
        <p class="muted">The stand-in of <code>make dev</code> does these when it is asked to. A real model would only answer.</p>
        {byService.map((trial) => (
          <Card key={trial.id} trial={trial} />
        ))}
      </section>
    </>
  );
}

const Away = () => (
  <label class="away">
    for
    <input type="number" min={1} max={LONGEST_AWAY_S} value={awaySeconds.value} onInput={({ currentTarget: { valueAsNumber: typed } }) => typed >= 1 && (awaySeconds.value = Math.min(LONGEST_AWAY_S, typed))} />
    seconds
  </label>
);

function Card({ trial, children }: { trial: Trial; children?: preact.ComponentChildren }) {
  const outcome = outcomes.value[trial.id];
  const live = liveTurn.value;
  const isBusy = live !== undefined && !goesElsewhere(trial) && (trial.needsIdle || live.record.value.status === 'awaiting_tools');
  const isBlocked = running.value !== undefined || isBusy;
  // A button that one has just pressed keeps the focus, so it is not disabled.
  const isRunning = running.value === trial.id;
  const title = `trial-${trial.id}`;
  return (
    <article class="card trial" data-trial={trial.id} data-state={outcome?.state ?? 'idle'} aria-labelledby={title}>
      <header>
        <div>
          <h4 id={title}>{trial.title}</h4>
          <p class="muted">{trial.does}</p>
        </div>
        <button type="button" disabled={isBlocked && !isRunning} aria-disabled={isRunning} aria-label={`Try it: ${trial.title}`} onClick={() => start(trial)}>
          Try it
        </button>
      </header>
      {children}
      <ul aria-label="What should be true">
        {Object.entries(trial.claims).map(([claim, words]) => (
          <Claim key={claim} words={words} finding={outcome?.findings[claim]} />
        ))}
      </ul>
      <p class="verdict" role="status">{outcome && verdict(outcome)}</p>
    </article>
  );
}

function Claim({ words, finding }: { words: string; finding: Finding | undefined }) {
  const state = !finding ? 'open' : finding.holds === 'unseen' ? 'unseen' : finding.holds ? 'holds' : 'broken';
  return (
    <li class={state}>
      {state === 'open' || state === 'unseen' ? <span class="dot" /> : <Icon name={state === 'holds' ? 'check' : 'close'} />}
      <span>
        {state !== 'open' && <span class="hidden">{{ holds: 'True: ', broken: 'Not true: ', unseen: 'Not shown: ' }[state]}</span>}
        {words}
        {finding?.seen && <small>{finding.seen}</small>}
      </span>
    </li>
  );
}

function verdict({ state, doing, fault, ms = 0 }: Outcome): string {
  if (state === 'runs') return doing;
  if (fault !== undefined) return `It could not be tried: ${fault}`;
  if (state === 'partly') return `What could be seen held. ${seconds(ms)}`;
  return state === 'held' ? `It held. ${seconds(ms)}` : 'It did not hold.';
}
