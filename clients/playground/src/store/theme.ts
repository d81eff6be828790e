// Light, dark, or as the system has it; the browser keeps it. It is shown before the page is painted for the first time, by
// first.ts: what stands here is all that is loaded then.
import { ofBrowser } from './storage.js';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const THEME_PLACE = 'aptix-edge.theme';
/** The colours of what is around the page, as in index.html. */
const AROUND = { light: '#ffffff', dark: '#101216' };

export function keptTheme(): Theme {
  const kept = ofBrowser.get(THEME_PLACE) as Theme;
  return THEMES.includes(kept) ? kept : 'system';
}

export function showTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="color-scheme"]')) meta.content = theme === 'system' ? 'light dark' : theme;
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
    meta.content = AROUND[theme === 'system' ? (meta.media.includes('dark') ? 'dark' : 'light') : theme];
  }
}
