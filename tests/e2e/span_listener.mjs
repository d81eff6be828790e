// A Worker that logs the spans of the Worker under test.
import { LISTENER_COMPATIBILITY, listener } from '../../tools/dev/span_trees.mjs';

/** Options of Miniflare. */
export const LISTENER = {
  name: 'listener',
  modules: true,
  compatibilityDate: LISTENER_COMPATIBILITY.date,
  compatibilityFlags: LISTENER_COMPATIBILITY.flags,
  script: listener(),
};
