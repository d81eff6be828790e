// What is pasted or dropped: pictures go with the turn as clipboard images, other files as artifacts.
import { computed, signal, type Signal } from '@preact/signals';
import type { ClipboardImage, InputArtifact } from '../../../typescript/src/index.js';
import { droppedFiles } from './ready_tools.js';
import { user } from './user.js';

export type Attachment =
  | { kind: 'picture'; name: string; image: ClipboardImage }
  | { kind: 'file'; name: string; artifact: InputArtifact };

/** A list of what is attached. Each session has its own: what is still being read when one goes to another session stays behind. */
export type Attached = Signal<readonly Attachment[]>;
export const noneAttached = (): Attached => signal<readonly Attachment[]>([]);
/** That of the open session. */
export const attachedHere = signal(noneAttached());
export const attachments = computed(() => attachedHere.value.value);
/** For each file that is still being read, the list that it comes into. */
const reading = signal<readonly Attached[]>([]);
/** How many files of the open session are still being read: nothing is sent without them. */
export const filesBeingRead = computed(() => reading.value.filter((list) => list === attachedHere.value).length);
/** What could not be attached, for the user. */
export const refusedFiles = signal('');

const PICTURES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
/** Of one file. The service's own limit is on the whole request. */
const LONGEST_BYTES = 4 << 20;

/** Why a file is not taken, as far as its size tells. */
export const tooLarge = ({ name, size }: File): string | undefined => (size > LONGEST_BYTES ? `${name} is larger than 4 MB.` : undefined);

export async function attach(files: Iterable<File>): Promise<void> {
  const [all, list, owner] = [[...files], attachedHere.peek(), user.peek()];
  const refused = all.flatMap((file) => tooLarge(file) ?? []);
  for (const file of all.filter((each) => !tooLarge(each))) {
    reading.value = [...reading.peek(), list];
    try {
      // Others may be attached while this one is read, so the list is taken afterwards.
      const bytes = new Uint8Array(await file.arrayBuffer());
      // Nothing of it is for the next one who sits before this tab.
      if (user.peek() !== owner) return;
      list.value = [...list.peek(), attachment(file, bytes)];
    } catch {
      // A folder that is dropped looks like a file of no type.
      refused.push(`${file.name} could not be read.${file.type === '' ? ' Folders go into the panel Retrieval.' : ''}`);
    } finally {
      reading.value = reading.peek().toSpliced(reading.peek().indexOf(list), 1);
    }
  }
  if (list === attachedHere.peek()) refusedFiles.value = refused.join(' ');
}

function attachment(file: File, bytes: Uint8Array): Attachment {
  const name = file.name || 'pasted';
  if (PICTURES.includes(file.type)) {
    const image = { Id: newPictureId(), MimeType: file.type, DataBase64: base64(bytes) } as ClipboardImage;
    return { kind: 'picture', name, image };
  }
  const place = { RelativePath: name, FileName: name, Origin: 'user' as const, ...(file.type && { MimeType: file.type }) };
  const Contents = textOf(bytes);
  if (Contents === undefined) return { kind: 'file', name, artifact: { ...place, Contents: base64(bytes), Encoding: 'base64' } };
  droppedFiles.value = new Map([...droppedFiles.value, [name, Contents]]);
  return { kind: 'file', name, artifact: { ...place, Contents } };
}

const newPictureId = (): string => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;

/** What is attached goes with the message that is sent, and no longer with the next one. */
export function takeAttached(): readonly Attachment[] {
  const list = attachedHere.peek();
  const held = list.peek();
  list.value = [];
  return held;
}

/** Takes it away again, also from the tool that reads files: it may have been the wrong one. */
export function detach(gone: Attachment): void {
  const list = attachedHere.peek();
  list.value = list.peek().filter((each) => each !== gone);
  if (gone.kind === 'file') droppedFiles.value = new Map([...droppedFiles.peek()].filter(([name]) => name !== gone.name));
}

export const addressOf = ({ MimeType, DataBase64 }: ClipboardImage): string => `data:${MimeType};base64,${DataBase64}`;

/** A picture that was sent before, from what is left of it. */
export function pictureAt(address: string): Attachment {
  const [MimeType, DataBase64] = address.slice('data:'.length).split(';base64,');
  return { kind: 'picture', name: 'picture', image: { Id: newPictureId(), MimeType, DataBase64 } as ClipboardImage };
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function base64(bytes: Uint8Array): string {
  const PIECE = 0x8000;
  let binary = '';
  for (let at = 0; at < bytes.length; at += PIECE) binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(binary);
}
