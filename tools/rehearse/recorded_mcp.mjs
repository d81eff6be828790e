// An MCP server that the record answers: it lists the tools that the recorded turns offered, and gives their recorded results. It
// speaks the revision without a handshake, 2026-07-28.
import { NOT_RECORDED } from './recorded_answers.mjs';

/**
 * Answers a request of the protocol: `{ status, text }`. `tools` are the server's, and `call(tool, argumentsJson)` resolves to
 * what the record has: an `Answer`, `null` for a call that failed its turn, or `undefined`.
 */
export async function answerMcp(text, tools, call) {
  const { id, method, params } = JSON.parse(text);
  const result = (json) => ({ status: 200, text: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}` });
  const error = (status, code, message) => ({ status, text: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } }) });
  if (id === undefined) return { status: 202, text: '' };
  if (method === 'tools/list') return result(JSON.stringify({ resultType: 'complete', tools, ttlMs: 86_400_000, cacheScope: 'private' }));
  if (method !== 'tools/call') return error(404, -32601, 'Method not found');
  const answer = await call(params.name, JSON.stringify(params.arguments ?? {}));
  if (answer === null) return error(200, -32603, 'The recorded call failed.');
  return result(resultOf(answer ?? { ErrorMessage: NOT_RECORDED }));
}

/** The result that the service turns into that answer again; JSON stays as it is written. */
function resultOf({ ResultJson, ErrorMessage }) {
  const written = (content, more = '') => `{"resultType":"complete","content":${JSON.stringify(content)}${more}}`;
  if (ResultJson === undefined) return written([{ type: 'text', text: ErrorMessage }], ',"isError":true');
  const value = JSON.parse(ResultJson);
  if (typeof value === 'string') return written([{ type: 'text', text: value }]);
  // A list that is data stands in a text, so that it passes for no content.
  const isData = Array.isArray(value) && value.length === 1 && value[0].type === 'input_text';
  if (isData) return written([], `,"structuredContent":${value[0].text}`);
  if (Array.isArray(value)) return written(value.map(blockOf));
  return value === null ? written([{ type: 'text', text: 'null' }]) : written([], `,"structuredContent":${ResultJson}`);
}

function blockOf(part) {
  const [, mimeType, data] = /^data:([^;,]*);base64,([^]*)$/.exec(part.image_url ?? '') ?? [];
  return mimeType === undefined ? { type: 'text', text: part.text ?? '' } : { type: 'image', mimeType, data };
}
