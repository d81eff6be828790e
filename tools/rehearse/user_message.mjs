// What a message of the user was made of: an export keeps the message that the model got, and no request. The words around
// its parts are those of interface §4.

const SOLUTION = '[SOLUTION CONTEXT]\n';
const CONTEXT = '[CONTEXT]\n\n=== CHUNK ';
const INSTRUCTION = '\n\n[INSTRUCTION]\n';
/** The head of a chunk, up to its text. */
const CHUNK = /(?:\[CONTEXT\]\n\n|\n)=== CHUNK \d+ ===\nId: ctx_\d+\nPath: (.*)\nLines: (\d+)-(\d+)\nLanguage: (.*)\n(`{3,}).*\n/y;

/**
 * `{ request, retrieved }` of a message's items and its composition trace (of a steer there is none): the members of a request
 * from which the same message is composed, and the chunks that were retrieved for it.
 */
export function readMessage(items, trace = []) {
  const [{ content: [opening, ...rest] = [] } = {}] = items;
  const at = opening?.text.indexOf(INSTRUCTION) ?? -1;
  const sent = trace.filter(({ LeftOut }) => LeftOut === undefined);
  const sources = (block) => sent.filter((each) => each.Block === block).map(({ Source }) => Source);
  const context = rest.find(({ text }) => text?.startsWith(CONTEXT));
  const chunks = context ? chunksIn(context.text) : [];
  const own = sources('chunk').filter((source) => source.startsWith('InputArtifacts: ')).length;
  const ownChunks = trace.length > 0 ? own : chunks.length;
  const solution = rest.find(({ text }) => text?.startsWith(SOLUTION));
  const images = rest.filter(({ type }) => type === 'input_image').map((part, place) => imageOf(part, sources('image')[place], place));
  const files = rest.filter(({ type }) => type === 'input_file').map((part, place) => fileOf(part, sources('file')[place]));
  const artifacts = [...chunks.slice(0, ownChunks).map(textOf), ...images.filter(({ Origin }) => Origin), ...files];
  const clipboard = images.filter(({ Id }) => Id);
  const request = {
    ...(at >= 0 && { Instruction: opening.text.slice(at + INSTRUCTION.length) }),
    ...(artifacts.length > 0 && { InputArtifacts: artifacts }),
    ...(clipboard.length > 0 && { ClipboardImages: clipboard }),
    ...(solution && { SolutionContextText: solution.text.slice(SOLUTION.length) }),
  };
  return { request, retrieved: chunks.slice(ownChunks) };
}

function chunksIn(text) {
  const chunks = [];
  for (let at = 0; at < text.length; ) {
    CHUNK.lastIndex = at;
    const head = CHUNK.exec(text);
    if (!head) break;
    const [all, Path, from, to, Language, fence] = head;
    const begin = at + all.length;
    // The fence is longer than any run of backticks in the text.
    const end = text.indexOf(`\n${fence}\n`, begin);
    if (end < 0) break;
    // The message has the text without its last line end.
    chunks.push({ Path, StartLine: Number(from), EndLine: Number(to), Language, Text: `${text.slice(begin, end)}\n` });
    at = end + fence.length + 2;
  }
  return chunks;
}

const placeOf = (path) => ({ RelativePath: path, FileName: path.split('/').at(-1), Origin: 'user' });
const textOf = ({ Path, Language, Text }) => ({ ...placeOf(Path), Contents: Text, Language });
const pathIn = (source) => (source?.startsWith('InputArtifacts: ') ? source.slice('InputArtifacts: '.length) : undefined);

function contentsOf(url) {
  const [, MimeType, base64] = /^data:([^;,]*);base64,([^]*)$/.exec(url) ?? [];
  return { MimeType, base64 };
}

function imageOf({ image_url: url }, source, place) {
  const { MimeType, base64 } = contentsOf(url);
  const path = pathIn(source);
  if (path !== undefined) return { ...placeOf(path), Contents: base64, Encoding: 'base64', MimeType };
  return { Id: source?.slice('ClipboardImages: '.length) ?? `picture-${place + 1}`, MimeType, DataBase64: base64 };
}

function fileOf({ filename, file_data: url }, source) {
  const { MimeType, base64 } = contentsOf(url);
  return { ...placeOf(pathIn(source) ?? filename), Contents: base64, Encoding: 'base64', MimeType };
}
