// What is pasted or dropped: pictures go with the turn as clipboard images, other files as artifacts.
import { signal } from '@preact/signals';
import type { ClipboardImage, InputArtifact } from '../../../typescript/src/index.js';
import { droppedFiles } from './ready_tools.js';

export type Attachment =
  | { kind: 'picture'; name: string; image: ClipboardImage }
  | { kind: 'file'; name: string; artifact: InputArtifact };

export const attachments = signal<readonly Attachment[]>([]);
/** How many files are still being read: nothing is sent without them. */
export const filesBeingRead = signal(0);
/** What could not be attached, for the user. */
export const refusedFiles = signal('');

const PICTURES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
/** Of one file. The service's own limit is on the whole request. */
const LONGEST_BYTES = 4 << 20;

export async function attach(files: Iterable<File>): Promise<void> {
  const all = [...files];
  const refused = all.filter(({ size }) => size > LONGEST_BYTES).map(({ name }) => `${name} is larger than 4 MB.`);
  for (const file of all.filter(({ size }) => size <= LONGEST_BYTES)) {
    filesBeingRead.value += 1;
    try {
      // Others may be attached while this one is read, so the list is taken afterwards.
      const read = await attachment(file);
      attachments.value = [...attachments.value, read];
    } catch {
      // A folder that is dropped looks like a file of no type.
      refused.push(`${file.name} could not be read.${file.type === '' ? ' Folders go into the panel Retrieval.' : ''}`);
    } finally {
      filesBeingRead.value -= 1;
    }
  }
  refusedFiles.value = refused.join(' ');
}

async function attachment(file: File): Promise<Attachment> {
  const bytes = new Uint8Array(await file.arrayBuffer());
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
  const held = attachments.value;
  attachments.value = [];
  return held;
}

export const detach = (gone: Attachment) => (attachments.value = attachments.value.filter((each) => each !== gone));

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
