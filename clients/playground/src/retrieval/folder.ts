// Files of this computer, dropped or chosen, as documents of a workspace. Owns which of them are no text for an index.
import type { SourceDocument } from '../../../typescript/src/workspace.js';

interface Found {
  path: string;
  file: File;
}
export interface Folder {
  name: string;
  documents: SourceDocument[];
  /** What was passed over, by the reason. */
  skipped: ReadonlyMap<string, number>;
}

/** Of one file. */
const LONGEST_BYTES = 2 << 20;
/** The bytes at a file's head in which a NUL tells that it is no text. */
const HEAD = 4096;
const MADE_BY_TOOLS = new Set(['node_modules', 'target', 'dist', 'build', '__pycache__', 'venv']);

/** Of an input that takes a folder. */
export const ofInput = (files: Iterable<File>): Promise<Folder> =>
  folderOf([...files].map((file) => ({ path: file.webkitRelativePath || file.name, file })));

/** Of a drop: folders with all that is in them, and single files. */
export async function ofDrop({ items }: DataTransfer): Promise<Folder> {
  // The items are gone after the first pause.
  const roots = [...items].filter(({ kind }) => kind === 'file').map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found: Found[] = [];
  for (const { entry, file } of roots) {
    if (entry) await walk(entry, found);
    else if (file) found.push({ path: file.name, file });
  }
  return folderOf(found);
}

async function walk(entry: FileSystemEntry, found: Found[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path: entry.fullPath.replace(/^\//, ''), file });
    return;
  }
  if (whyNot(`${entry.fullPath}/`)) return;
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A reader gives its entries in pieces, and an empty one at the end.
  for (let piece; (piece = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))).length > 0; ) {
    for (const each of piece) await walk(each, found);
  }
}

async function folderOf(found: readonly Found[]): Promise<Folder> {
  const tops = new Set(found.map(({ path }) => (path.includes('/') ? path.split('/')[0]! : '')));
  const [top = ''] = tops.size === 1 ? tops : [];
  const documents: SourceDocument[] = [];
  const skipped = new Map<string, number>();
  for (const { path, file } of found) {
    const Path = top ? path.slice(top.length + 1) : path;
    const why = whyNot(Path) ?? (file.size > LONGEST_BYTES ? 'larger than 2 MB' : (await isText(file)) ? undefined : 'no text');
    if (why) skipped.set(why, (skipped.get(why) ?? 0) + 1);
    else documents.push({ Path, Contents: () => file.text() });
  }
  return { name: top, documents, skipped };
}

function whyNot(path: string): string | undefined {
  const segments = path.split('/').slice(0, -1);
  if (path.split('/').some((segment) => segment.startsWith('.'))) return 'hidden';
  return segments.some((segment) => MADE_BY_TOOLS.has(segment)) ? 'made by tools' : undefined;
}

async function isText(file: File): Promise<boolean> {
  const head = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  return head.length > 0 && !head.includes(0);
}
