// One HTTP exchange over a socket of its own, which sends the given bytes unchanged.
// Owns reading the response; the tests judge it.
import net from 'node:net';

/**
 * Sends `bytes` to the server at `url` and resolves to `{status, headers, text, json}`, or to `null` when the server
 * closes the connection without a response. `bytes` should contain `Connection: close`. `halfClose` ends the sending
 * side, for bytes that promise more than they hold. Rejects after `withinMs`.
 */
export function exchange(url, bytes, { halfClose = false, withinMs = 10_000 } = {}) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    const isHead = bytes.subarray(0, 5).equals(Buffer.from('HEAD '));
    const socket = net.connect(Number(url.port), url.hostname);
    const settle = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answerIn(Buffer.concat(chunks)));
    };
    const timer = setTimeout(() => {
      socket.destroy();
      const seen = Buffer.concat(chunks).toString('latin1').slice(0, 200);
      reject(new Error(`no whole answer within ${withinMs} ms, only ${JSON.stringify(seen)}`));
    }, withinMs);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      // The server may keep the connection open, so the response's own length marks its end.
      if (isWhole(Buffer.concat(chunks), isHead)) settle();
    });
    socket.on('error', settle);
    socket.on('end', settle);
    if (halfClose) socket.end(bytes);
    else socket.write(bytes);
  });
}

const HEAD_END = '\r\n\r\n';

function isWhole(bytes, isHead) {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0 || isHead) return end >= 0;
  const head = bytes.toString('latin1', 0, end).toLowerCase();
  const [, length] = /\r\ncontent-length: *(\d+)/.exec(head) ?? [];
  if (length !== undefined) return bytes.length >= end + HEAD_END.length + Number(length);
  // Starts at the body, since a head can end in the same characters.
  const body = bytes.toString('latin1', end + 2);
  return head.includes('transfer-encoding: chunked') && body.endsWith('\r\n0\r\n\r\n');
}

function answerIn(bytes) {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return null;
  const [line, ...fields] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = new Headers(fields.map((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1).trim()]));
  let body = bytes.subarray(end + HEAD_END.length);
  if (headers.get('transfer-encoding') === 'chunked') body = unchunked(body);
  const text = body.toString();
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: Number(line.split(' ')[1]), headers, text, json };
}

function unchunked(bytes) {
  const pieces = [];
  for (let at = 0; at < bytes.length; ) {
    const line = bytes.indexOf('\r\n', at);
    const size = line < 0 ? 0 : Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (!size) break;
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return Buffer.concat(pieces);
}
