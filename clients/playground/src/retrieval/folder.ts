// Files of this computer, dropped or chosen, as a folder that the client's rules walk: those say which of them belong into
// an index, and why others do not.
import { type Entry, type FileSource, type FolderSource, type Passed, REASONS, counted, textOf, unchanged, walk } from '../../../typescript/src/folder.js';
import type { SourceDocument } from '../../../typescript/src/workspace.js';

export interface Folder {
  name: string;
  documents: SourceDocument[];
  /** What was passed over, by the reason. */
  skipped: ReadonlyMap<string, number>;
}

/** Of an input that takes a folder. */
export async function ofInput(files: Iterable<File>): Promise<Folder> {
  const root: Tree = new Map();
  for (const file of files) {
    const folders = (file.webkitRelativePath || file.name).split('/');
    const name = folders.pop()!;
    const at = folders.reduce<Tree>((tree, each) => {
      const below = tree.get(each);
      if (below instanceof Map) return below;
      const fresh: Tree = new Map();
      tree.set(each, fresh);
      return fresh;
    }, root);
    at.set(name, file);
  }
  return folderOf(entriesOf(root));
}

/** Of a drop: folders with all that is in them, and single files. */
export async function ofDrop({ items }: DataTransfer): Promise<Folder> {
  // The items are gone after the first pause.
  const roots = [...items].filter(({ kind }) => kind === 'file').map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const entries = roots.map(({ entry, file }) => (entry ? dropped(entry) : file && { name: file.name, kind: 'file' as const, file: sourceOf(file) }));
  return folderOf((await Promise.all(entries)).filter((each) => each !== null));
}

/** A folder that was chosen as a whole gives its name, and its own paths begin below it. */
async function folderOf(entries: Entry[]): Promise<Folder> {
  const [only] = entries;
  const isOne = entries.length === 1 && only?.kind === 'folder';
  const root: FolderSource = isOne ? only.folder : { entries: async () => entries };
  const documents: SourceDocument[] = [];
  const passed: Passed[] = [];
  for await (const found of walk(root)) {
    if ('reason' in found) passed.push(found);
    else {
      const { path, file } = found;
      const read = await file.bytes().then((bytes) => textOf(path, bytes), () => ({ reason: 'unreadable' as const }));
      if ('reason' in read) passed.push({ path, reason: read.reason });
      else documents.push({ Path: path, Contents: async () => unchanged(textOf(path, await file.bytes())) });
    }
  }
  const skipped = new Map(counted(passed).map(({ reason, count }) => [REASONS[reason], count]));
  return { name: isOne ? only.name : '', documents, skipped };
}

const sourceOf = (file: File): FileSource => ({ size: file.size, bytes: async () => new Uint8Array(await file.arrayBuffer()) });

type Tree = Map<string, Tree | File>;
const entriesOf = (tree: Tree): Entry[] =>
  [...tree].map(([name, each]) =>
    each instanceof Map ? { name, kind: 'folder', folder: { entries: async () => entriesOf(each) } } : { name, kind: 'file', file: sourceOf(each) },
  );

async function dropped(entry: FileSystemEntry): Promise<Entry> {
  const { name } = entry;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)).catch(() => undefined);
    return file ? { name, kind: 'file', file: sourceOf(file) } : { name, kind: 'link' };
  }
  const entries = async () => {
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    const found: FileSystemEntry[] = [];
    // A reader gives its entries in pieces, and an empty one at the end.
    for (let piece; (piece = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))).length > 0; ) found.push(...piece);
    return Promise.all(found.map(dropped));
  };
  return { name, kind: 'folder', folder: { entries } };
}
