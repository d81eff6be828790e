// How the page looks, as the browser keeps it for all sessions: its theme and the widths of its panes.
import { effect, signal } from '@preact/signals';
import { ofBrowser } from './storage.js';
import { keptTheme, showTheme, THEME_PLACE } from './theme.js';

const PANES_PLACE = 'aptix-edge.panes';

export const theme = signal(keptTheme());
/** The widths that were chosen, in pixels. A pane without one has that of the style. */
export const paneWidths = signal<{ readonly sidebar?: number; readonly panel?: number }>(keptWidths());

effect(() => {
  showTheme(theme.value);
  keep(THEME_PLACE, theme.value === 'system' ? undefined : theme.value);
});
effect(() => {
  const { style } = document.documentElement;
  for (const pane of ['sidebar', 'panel'] as const) {
    const width = paneWidths.value[pane];
    if (width === undefined) style.removeProperty(`--${pane}-width`);
    // What fitted a large window leaves room for the conversation in a small one.
    else style.setProperty(`--${pane}-width`, `min(${width}px, ${pane === 'panel' ? 60 : 40}vw)`);
  }
  keep(PANES_PLACE, Object.keys(paneWidths.value).length === 0 ? undefined : JSON.stringify(paneWidths.value));
});

addEventListener('storage', ({ key }) => {
  if (key === THEME_PLACE) theme.value = keptTheme();
});

function keptWidths(): { sidebar?: number; panel?: number } {
  try {
    const kept: unknown = JSON.parse(ofBrowser.get(PANES_PLACE) ?? '{}');
    return Object.fromEntries(Object.entries(kept ?? {}).filter(([pane, width]) => /^(sidebar|panel)$/.test(pane) && Number.isFinite(width)));
  } catch {
    return {};
  }
}

function keep(place: string, text: string | undefined): void {
  if (text === undefined) ofBrowser.remove(place);
  else ofBrowser.set(place, text);
}
