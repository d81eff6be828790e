// The panels beside the conversation, in the order of their buttons. Each reads the store by itself:
// `lookedAt` (the chosen turn, else the newest), `shownTurns`, `sessionId` of store/conversation.ts; `attempts` of
// store/service.ts.
import { computed, signal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import { BreakingPanel } from './breaking/breaking_panel.js';
import { sendExample } from './inspector/example.js';
import { InspectorPanel } from './inspector/inspector_panel.js';
import { RetrievalPanel } from './retrieval/retrieval_panel.js';
import { SessionPanel } from './session/session_panel.js';
import { ContextPanel } from './view/context_panel.js';
import type { IconName } from './view/icon.js';

export interface Panel {
  id: string;
  title: string;
  icon: IconName;
  View: FunctionComponent;
  /** It shows one turn, which is marked in the conversation; a click on another turn chooses that. */
  isOfTurn?: boolean;
  /** What no icon says; the button of this panel keeps its title in words where others are icons. */
  about?: string;
  /** An empty session invites to it by these words. */
  invites?: { words: string; shows: string; begin?(): void };
}

export const panels: readonly Panel[] = [
  { id: 'session', title: 'Session', icon: 'session', View: SessionPanel },
  { id: 'context', title: 'Context', icon: 'sliders', View: ContextPanel },
  { id: 'inspector', title: 'Inspector', icon: 'timeline', View: InspectorPanel, isOfTurn: true, about: 'what each model call was sent, byte for byte, and where the time went', invites: { words: 'See inside', shows: 'sends an example, and takes it apart: what each model call was sent, byte for byte, and where the time went', begin: sendExample } },
  { id: 'breaking', title: 'Break it', icon: 'bolt', View: BreakingPanel, about: 'cuts, reloads and restarts at the worst moment, and what holds then', invites: { words: 'Cut it off in the middle', shows: 'cuts, reloads and restarts at the worst moment, and what holds then' } },
  { id: 'retrieval', title: 'Retrieval', icon: 'book', View: RetrievalPanel },
];

/** The id of the panel that is open. */
export const openPanel = signal<string | undefined>(undefined);
export const panelShown = computed(() => panels.find(({ id }) => id === openPanel.value));
