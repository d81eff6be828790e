// The conversation contexts that this page has met. The service tells nobody what its catalog has, so a list of them is what
// was met here: those of nobody's sessions stay in the browser, a user's in the page alone.
import { effect, signal } from '@preact/signals';
import { boundContexts } from './conversation.js';
import { ofBrowser } from './storage.js';
import { user } from './user.js';

const PLACE = 'aptix-edge.contexts';
const MOST_KEPT = 20;

/** Those of the catalog with which `make dev` serves: the address of the page names them. */
export const toldContexts: readonly string[] = new URLSearchParams(location.search).get('contexts')?.split(',').filter(Boolean) ?? [];

/** Those that were met last stand first. */
export const metContexts = signal<readonly string[]>([]);

const kept = (): string[] => ofBrowser.list<string>(PLACE, (each) => typeof each === 'string').slice(0, MOST_KEPT);

effect(() => {
  metContexts.value = user.value === undefined ? kept() : [];
});
effect(() => {
  const met = boundContexts.value?.conversation;
  if (met === undefined || metContexts.peek()[0] === met) return;
  // Another tab may have met others since.
  const before = user.peek() === undefined ? kept() : metContexts.peek();
  metContexts.value = [met, ...before.filter((each) => each !== met)].slice(0, MOST_KEPT);
  if (user.peek() === undefined) ofBrowser.set(PLACE, JSON.stringify(metContexts.peek()));
});
