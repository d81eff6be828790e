// A Worker that logs the spans of the Worker under test.
import { LISTENER_COMPATIBILITY, listener } from '../../tools/dev/span_trees.mjs';

/** Whether a span tells of a turn; the others are the runtime's. */
export const isOurs = ({ name }) => /^(invoke_agent|chat|execute_tool|retrieval|embeddings|fetch)\b/.test(name);

/** Options of Miniflare. */
export const LISTENER = {
  name: 'listener',
  modules: true,
  compatibilityDate: LISTENER_COMPATIBILITY.date,
  compatibilityFlags: LISTENER_COMPATIBILITY.flags,
  script: listener(),
};
