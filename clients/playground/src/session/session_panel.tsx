// The open session as a whole: what all its turns took, saving it, its link, and its branches.
import { computed } from '@preact/signals';
import { useEffect, useId, useState } from 'preact/hooks';
import { branches } from '../store/branches.js';
import { faultOf, forkFrom, hasEnded, titleOf, underWay } from '../branching/branching.js';
import { ContextField } from '../branching/context_field.js';
import { linkTo } from '../store/address.js';
import { liveTurn, newestTurn, sessionId, shownTurns } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import { compareRehearsed } from '../comparison/comparison.js';
import { rehearsedTurns } from '../comparison/rehearsal.js';
import { exportFile, save } from '../store/export_file.js';
import { namedFor, sumOf } from '../store/figures.js';
import { recordsOf } from '../store/history.js';
import { aptix } from '../store/service.js';
import { isLive, seconds } from '../store/turn_record.js';
import { copyText } from '../view/clipboard.js';
import { Icon } from '../view/icon.js';
import { markdownOf } from './conversation_markdown.js';
import { countTurns, fault, totals, type Totals } from './totals.js';

/** Before its first turn has ended, there is nothing to count. */
const canBeCounted = computed(() => shownTurns.value.length > 1 || (newestTurn.value !== undefined && !isLive(newestTurn.value.record.value)));
const isRunning = computed(() => liveTurn.value !== undefined);

export function SessionPanel() {
  const session = sessionId.value;
  const turn = newestTurn.value;
  useEffect(() => {
    if (canBeCounted.value) void countTurns(session);
  }, [session, turn, canBeCounted.value, isRunning.value]);
  if (!turn) {
    return (
      <>
        <p class="muted">A session begins with its first turn.</p>
        <Rehearsal />
      </>
    );
  }
  const counted = totals.value?.session === session ? totals.value : undefined;
  return (
    <>
      {fault.value && <p class="fault">{fault.value}</p>}
      {counted && <InAll counted={counted} />}
      {!counted && !fault.value && <p class="muted">{canBeCounted.value ? 'Counting…' : 'It is counted when the turn has ended.'}</p>}
      <Saving session={session} />
      <Branches session={session} />
      <UnderAnother />
      <Rehearsal />
      <dl class="ids">
        <dt>Session</dt>
        <dd><code>{session}</code></dd>
        {counted && (
          <>
            <dt>Agent context</dt>
            <dd>{counted.agent}</dd>
            <dt>Conversation context</dt>
            <dd>{counted.conversation}</dd>
          </>
        )}
      </dl>
    </>
  );
}

const count = (value: number): string => value.toLocaleString('en');

function InAll({ counted: { figures: turns, copied } }: { counted: Totals }) {
  const own = [...turns].filter(([turn]) => !copied.includes(turn)).map(([, figures]) => figures);
  const all = sumOf(own);
  const before = sumOf(copied.flatMap((turn) => turns.get(turn) ?? []));
  const figures: [string, string][] = [
    [namedFor(own.length, 'turns'), count(own.length)],
    [namedFor(all.modelCalls, 'model calls'), count(all.modelCalls)],
    [namedFor(all.toolCalls, 'tool calls'), count(all.toolCalls)],
    ['time of all turns', seconds(all.ms)],
    ['tokens in', count(all.tokensIn)],
    ['of them cached', count(all.cached)],
    ['tokens out', count(all.tokensOut)],
    ['of them reasoning', count(all.reasoning)],
  ];
  return (
    <section class="totals">
      <h3>In all</h3>
      <dl class="figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {copied.length > 0 && (
        <p class="muted">
          {`The first ${copied.length === 1 ? 'turn' : `${copied.length} turns`} came with the branch: ${count(before.tokensIn)} tokens in and ${count(before.tokensOut)} out were spent there and are not counted here.`}
        </p>
      )}
    </section>
  );
}

function Saving({ session }: { session: string }) {
  const [fault, setFault] = useState('');
  const [isCopied, setCopied] = useState(false);
  const tried = (run: () => Promise<void>) => () => {
    setFault('');
    run().catch((error) => setFault(failureOf(error).message));
  };
  const saveExport = tried(async () => save(`session-${session}.json`, await exportFile(session)));
  const saveMarkdown = tried(async () => {
    const title = titleOf(session) ?? session;
    const text = markdownOf(title, recordsOf(await aptix.session(session).export()));
    save(`session-${session}.md`, new Blob([text], { type: 'text/markdown' }));
  });
  const copyLink = tried(async () => {
    setCopied(await copyText(linkTo({ session }), 'The link is copied.'));
  });
  return (
    <section>
      <h3>Keep it</h3>
      <div class="actions">
        <button type="button" onClick={saveMarkdown}>
          <Icon name="download" /> Save as Markdown
        </button>
        <button type="button" onClick={saveExport}>
          <Icon name="download" /> Save the export
        </button>
        <button type="button" onClick={copyLink}>
          <Icon name={isCopied ? 'check' : 'link'} /> Copy the link
        </button>
      </div>
      <p class="muted">The export is all that the service keeps of the session, one JSON document. The link opens it for whoever may read it.</p>
      {fault && <p class="fault" role="alert">{fault}</p>}
    </section>
  );
}

/** The same conversation, under another prompt or model. */
function UnderAnother() {
  const [context, setContext] = useState('');
  const turn = shownTurns.value.findLast(hasEnded);
  if (!turn) return null;
  const submit = (event: Event) => {
    event.preventDefault();
    if (context.trim()) void forkFrom(turn, context.trim());
  };
  return (
    <section>
      <h3>Go on under another context</h3>
      <form class="under-another" onSubmit={submit}>
        <ContextField value={context} onChange={setContext} hint="Its id in the catalog, with its prompt and model. A branch goes on under it, from the newest turn that has ended." />
        <button type="submit" disabled={!context.trim() || underWay.value !== undefined}>
          <Icon name="branch" /> Fork
        </button>
        {faultOf(turn, true) && <p class="fault" role="alert">{faultOf(turn, true)}</p>}
      </form>
    </section>
  );
}

/** Recorded sessions that ran again under another catalog, beside themselves. */
function Rehearsal() {
  const [fault, setFault] = useState('');
  const id = useId();
  const open = async (input: HTMLInputElement) => {
    const [file] = input.files ?? [];
    if (!file) return;
    setFault('');
    try {
      const turns = rehearsedTurns(await file.text());
      compareRehearsed(turns, turns[0]!);
    } catch (error) {
      setFault(error instanceof SyntaxError ? 'This file is no JSON.' : failureOf(error).message);
    }
    // The same file can be opened again.
    input.value = '';
  };
  return (
    <section>
      <h3>Compare a rehearsal</h3>
      <p class="muted">A rehearsal runs recorded sessions again under another catalog, with no tool of the real world.</p>
      <label for={id}>The file that <code>make rehearse JSON=…</code> has written</label>
      <input id={id} type="file" accept=".json,application/json" onChange={(event) => void open(event.currentTarget)} />
      {fault && <p class="fault" role="alert">{fault}</p>}
    </section>
  );
}

function Branches({ session }: { session: string }) {
  const made = branches.value.filter(({ id, parent }) => parent === session && titleOf(id) !== undefined);
  if (made.length === 0) return null;
  const place = (of: string | undefined) => shownTurns.value.findIndex(({ record }) => record.value.turnId === of);
  return (
    <section>
      <h3>Branches</h3>
      <ul class="branches">
        {made.map(({ id, of, context }) => (
          <li key={id}>
            <Icon name="branch" />
            <a href={linkTo({ session: id })}>{titleOf(id)}</a>
            <small>{[place(of) >= 0 && `asks turn ${place(of) + 1} again`, context && `under ${context}`].filter(Boolean).join(', ')}</small>
          </li>
        ))}
      </ul>
    </section>
  );
}
