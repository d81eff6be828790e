// A workspace: a folder goes in, its chunks can be seen, and a search shows what turns would be given, and why.
import { signal } from '@preact/signals';
import { useEffect, useId } from 'preact/hooks';
import { liveTurn, send } from '../store/conversation.js';
import { seconds } from '../store/turn_record.js';
import { ragScope, workspace } from '../store/settings.js';
import { Icon } from '../view/icon.js';
import { agreed } from '../view/question.js';
import { ChunkView } from './chunk_view.js';
import { ofDrop, ofInput } from './folder.js';
import { counts, erase, fault, looked, MOST_CHUNKS, open, opened, paths, results, search, take, told, tried, upload } from './workspace.js';

const isWhole = signal(false);
const isOver = signal(false);
const query = signal('');
const limit = signal(8);
const isScoped = signal(true);
const MOST_PATHS = 500;

export function RetrievalPanel() {
  useEffect(() => void looked(), [workspace.value]);
  return (
    <div class="retrieval">
      <Workspace />
      <Upload />
      {fault.value && <p class="fault" role="alert">{fault.value}</p>}
      {counts.value && counts.value.Documents > 0 && (
        <>
          <Search />
          <Documents />
        </>
      )}
    </div>
  );
}

function Workspace() {
  const id = useId();
  const held = counts.value;
  const number = (count: number) => count.toLocaleString('en');
  return (
    <section>
      <div class="field">
        <label for={id}>Workspace</label>
        <input id={id} value={workspace.value} placeholder="A name; a folder brings its own" autocomplete="off" spellcheck={false} onChange={(event) => (workspace.value = event.currentTarget.value.trim())} />
        <small>Turns of the conversation are given the chunks of it that fit best.</small>
      </div>
      {held && (
        <dl class="figures">
          <div>
            <dt>documents</dt>
            <dd>{number(held.Documents)}</dd>
          </div>
          <div>
            <dt>chunks</dt>
            <dd>{number(held.Chunks)}</dd>
          </div>
          <div>
            <dt>bytes</dt>
            <dd>{number(held.Bytes)}</dd>
          </div>
        </dl>
      )}
    </section>
  );
}

function Upload() {
  const busy = upload.value;
  const choose = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    const files = [...(input.files ?? [])];
    input.value = '';
    if (files.length > 0) void tried(() => take(ofInput(files), isWhole.value));
  };
  // What is dropped here is no attachment of the next message.
  const drag = (event: DragEvent) => {
    event.preventDefault();
    event.stopPropagation();
    isOver.value = true;
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    event.stopPropagation();
    isOver.value = false;
    const { dataTransfer } = event;
    if (dataTransfer && !busy) void tried(() => take(ofDrop(dataTransfer), isWhole.value));
  };
  return (
    <section>
      <div class={`take${isOver.value ? ' over' : ''}`} onDragOver={drag} onDragLeave={() => (isOver.value = false)} onDrop={drop}>
        {busy ? (
          <>
            <label for="upload">{busy.all === 0 ? 'Reading the folder…' : `Uploading: ${busy.done} of ${busy.all}`}</label>
            <progress id="upload" value={busy.done} max={Math.max(1, busy.all)} />
          </>
        ) : (
          <>
            <Icon name="book" />
            <p>Drop a folder or files here</p>
            <div class="actions">
              <label class="button">
                <input type="file" class="hidden" multiple onChange={choose} {...{ webkitdirectory: true }} />
                Choose a folder
              </label>
              <label class="button">
                <input type="file" class="hidden" multiple onChange={choose} />
                Choose files
              </label>
            </div>
          </>
        )}
      </div>
      <label class="check">
        <input type="checkbox" checked={isWhole.value} onChange={(event) => (isWhole.value = event.currentTarget.checked)} />
        <span>
          Remove what the folder does not have
          <small>Only what is new or changed is sent in any case: hashes are compared first.</small>
        </span>
      </label>
      <p class="muted" role="status">{told.value}</p>
    </section>
  );
}

function Search() {
  const scope = ragScope();
  const found = results.value;
  const submit = (event: Event) => {
    event.preventDefault();
    if (query.value.trim()) void tried(() => search(query.value, limit.value, isScoped.value));
  };
  return (
    <section>
      <h3>Search</h3>
      <form class="search-form" onSubmit={submit}>
        <input dir="auto" type="search" aria-label="What to search for" placeholder="A question, words, names" value={query.value} onInput={(event) => (query.value = event.currentTarget.value)} />
        <label class="limit">
          best
          <input type="number" min={1} max={100} value={limit.value} onInput={({ currentTarget: { valueAsNumber: typed } }) => typed >= 1 && (limit.value = Math.min(100, typed))} />
        </label>
        <button type="submit" class="primary">Search</button>
      </form>
      {scope && (
        <label class="check">
          <input type="checkbox" checked={isScoped.value} onChange={(event) => (isScoped.value = event.currentTarget.checked)} />
          <span>
            {`Within the scope of the context: ${scope.Conditions.length} ${scope.Conditions.length === 1 ? 'condition' : 'conditions'}`}
          </span>
        </label>
      )}
      {found && (
        <>
          <p class="muted" role="status">{toldOf(found)}</p>
          <ol class="chunks" aria-label="Chunks that were found">
            {found.chunks.map((chunk, at) => (
              <ChunkView key={`${chunk.Path} ${chunk.StartLine}`} chunk={chunk} rank={at + 1} query={found.query} best={found.chunks[0]!.Score} />
            ))}
          </ol>
          {found.chunks.length > 0 && (
            <button type="button" disabled={liveTurn.value !== undefined} onClick={() => send(found.query)}>
              Ask the agent this
            </button>
          )}
        </>
      )}
    </section>
  );
}

function toldOf({ chunks, query: words, isScoped, ms }: NonNullable<typeof results.value>): string {
  if (chunks.length === 0) return `Nothing${isScoped ? ' in this scope' : ''} has any of these words.`;
  return `${chunks.length} ${chunks.length === 1 ? 'chunk' : 'chunks'} for “${words}”, best first, in ${seconds(ms)}.`;
}

function Documents() {
  const shown = paths.value.slice(0, MOST_PATHS);
  const held = counts.value?.Documents ?? 0;
  const clear = async () => {
    if (await agreed(`Erase the workspace “${workspace.value}”?`, 'All its documents are erased from the service.')) void tried(erase);
  };
  return (
    <section>
      <h3>Documents</h3>
      <ul class="documents">
        {shown.map((path) => (
          <Document key={path} path={path} />
        ))}
      </ul>
      {held > shown.length && <p class="muted">{`The first ${shown.length} of ${held.toLocaleString('en')} are shown.`}</p>}
      <button type="button" class="danger" onClick={clear}>
        <Icon name="trash" /> Erase the workspace
      </button>
    </section>
  );
}

function Document({ path }: { path: string }) {
  const chunks = opened.value?.path === path ? opened.value.chunks : undefined;
  return (
    <li>
      <button type="button" class="document" aria-expanded={chunks !== undefined} onClick={() => (chunks ? (opened.value = undefined) : void tried(() => open(path)))}>
        <Icon name="chevron" />
        <span>{path}</span>
        {chunks && <small>{`${chunks.length === MOST_CHUNKS ? 'the best ' : ''}${chunks.length} ${chunks.length === 1 ? 'chunk' : 'chunks'}`}</small>}
      </button>
      {chunks && (
        <ol class="chunks" aria-label={`Chunks of ${path}`}>
          {chunks.map((chunk) => (
            <ChunkView key={chunk.StartLine} chunk={chunk} query="" />
          ))}
        </ol>
      )}
    </li>
  );
}
